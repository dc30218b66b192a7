"""Loops that loopy turns into kernels: products, stencils, sums and differences."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array as cla
from device import choose_device, choose_sizes, repeat


def main() -> None:
    """Run each kernel at two sizes."""
    _, _, device = choose_device()
    queue = cl.CommandQueue(cl.Context([device]))
    random = np.random.default_rng(5)
    for side in choose_sizes(256, 1024):
        a, b = (random.random((side, side)).astype(np.float32) for _ in range(2))
        on = [cla.to_device(queue, each) for each in (a, b)]
        for name, kernel in _kernels().items():
            run = kernel.executor(queue.context)
            names = [arg.name for arg in kernel.default_entrypoint.args if arg.name in "ab"]
            repeat(name, lambda r=run, n=names, o=on: r(queue, **dict(zip(n, o, strict=False))))
    queue.finish()


def _kernels() -> dict[str, lp.TranslationUnit]:
    product = lp.make_kernel(
        "{[i,j,k]: 0<=i,j,k<n}", "c[i,j] = sum(k, a[i,k]*b[k,j])", name="product"
    )
    product = _typed(product, ("a", "b"), "n >= 16")
    plain = lp.split_iname(product, "i", 16, outer_tag="g.0", inner_tag="l.1")
    plain = lp.split_iname(plain, "j", 16, outer_tag="g.1", inner_tag="l.0")
    stencil = lp.make_kernel(
        "{[i,j]: 1<=i,j<n-1}",
        "d[i,j] = a[i-1,j] + a[i+1,j] + a[i,j-1] + a[i,j+1] - 4*a[i,j]",
        [lp.GlobalArg("d", shape="n,n", is_input=False), ...], name="stencil",
    )  # fmt: skip
    stencil = _grid(_typed(stencil, ("a",), "n >= 16"))
    scaled = lp.make_kernel("{[i,j]: 0<=i,j<n}", "e[i,j] = exp(a[i,j])*b[j,i]", name="scaled")
    scaled = _grid(_typed(scaled, ("a", "b"), "n >= 16"))
    rows = lp.make_kernel("{[i,j]: 0<=i,j<n}", "f[i] = sum(j, a[i,j]*b[i,j])", name="rows")
    rows = lp.split_iname(
        _typed(rows, ("a", "b"), "n >= 16"), "i", 64, outer_tag="g.0", inner_tag="l.0"
    )
    return {"plain": plain, "stencil": stencil, "scaled": scaled, "rows": rows}


def _typed(kernel: lp.TranslationUnit, names: tuple[str, ...], holds: str) -> lp.TranslationUnit:
    return lp.assume(lp.add_dtypes(kernel, dict.fromkeys(names, np.float32)), holds)


def _grid(kernel: lp.TranslationUnit) -> lp.TranslationUnit:
    kernel = lp.split_iname(kernel, "i", 8, outer_tag="g.1", inner_tag="l.1")
    return lp.split_iname(kernel, "j", 32, outer_tag="g.0", inner_tag="l.0")


if __name__ == "__main__":
    main()
