"""netcl: a few steps of training, and its operations on small arrays."""

import inspect

import numpy as np
from netcl import ops
from netcl.core.device import manager
from netcl.core.tensor import Tensor
from netcl.data.dataloader import DataLoader
from netcl.nn import functional
from netcl.nn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU, Sequential
from netcl.optim import SGD, Adam
from netcl.trainer import Trainer

queue = manager.default(device="gpu").queue
generator = np.random.default_rng(0)


def host(*shape: int) -> np.ndarray:
    return generator.standard_normal(shape).astype(np.float32)


def attempt(what: str, step) -> None:
    try:
        step()
        print(what, "ok")
    except Exception as error:  # what does not run is told, and the next is tried
        print(what, repr(error)[:120])


def train(model, optimizer, shape) -> None:
    targets = generator.integers(0, 10, size=(32,))
    loader = DataLoader(
        list(zip(host(32, *shape), targets, strict=True)), batch_size=16, device_queue=queue
    )
    Trainer(model, optimizer, device_queue=queue).fit(
        loader, epochs=1, loss_fn=functional.cross_entropy
    )


def mlp() -> None:
    layers = (Flatten(), Linear(queue, 64, 32), ReLU(), Linear(queue, 32, 10))
    model = Sequential(*layers)
    train(model, Adam(model.parameters(), lr=1e-3), (1, 8, 8))


def cnn() -> None:
    model = Sequential(
        Conv2d(queue, 1, 4, 3, pad=1), ReLU(), MaxPool2d(2), Flatten(), Linear(queue, 64, 10)
    )
    train(model, SGD(model.parameters(), lr=1e-3), (1, 8, 8))


attempt("mlp", mlp)
attempt("cnn", cnn)
shapes = {
    "x": (2, 3, 8, 8),
    "weight": (4, 3, 3, 3),
    "w": (4, 3, 3, 3),
    "a": (16, 16),
    "b": (16, 16),
}
for name in ops.__all__:
    operation = getattr(ops, name)
    if not callable(operation):
        continue
    for square in (False, True):

        def call(operation=operation, square=square) -> None:
            arguments = []
            for word, parameter in inspect.signature(operation).parameters.items():
                if parameter.default is not inspect.Parameter.empty:
                    break
                shape = (16, 16) if square else shapes.get(word, (2, 3, 8, 8))
                arguments.append(Tensor.from_host(queue, host(*shape)))
            operation(*arguments)

        attempt(f"{name} {square}", call)
