"""Every operation of pyclesperanto-prototype once, on small volumes and on small images."""

import inspect

import numpy as np
import pyclesperanto_prototype as cle

generator = np.random.default_rng(0)
volume = generator.random((8, 16, 24), dtype=np.float32)
labels = (np.indices(volume.shape).sum(axis=0) // 8 + 1).astype(np.uint32)

done = 0
for name, operation in sorted(cle.operations().items()):
    parameters = inspect.signature(operation).parameters
    for source in (volume, volume[0]):
        arguments = []
        for word, parameter in parameters.items():
            if parameter.default is not inspect.Parameter.empty:
                break
            label = "label" in word or "binary" in word
            whole = labels if source is volume else labels[0]
            arguments.append(cle.push(whole if label else source))
        try:
            operation(*arguments)
            done += 1
        except Exception as error:  # whatever an operation does not take: others are tried
            print(name, type(error).__name__, str(error)[:80].replace("\n", " "))
print(done)
