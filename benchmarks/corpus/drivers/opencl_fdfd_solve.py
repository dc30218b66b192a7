"""A small box with a current in it, solved by opencl_fdfd with and without materials."""

import numpy as np
from opencl_fdfd import cg_solver

shape = (8, 7, 6)
cells = [[np.ones(size, complex) for size in shape] for _ in range(2)]
count = 3 * np.prod(shape)
current = np.zeros(count, complex)
current[count // 2] = 1
ones = np.ones(count, complex)
for materials in ({}, {"mu": ones}, {"pec": ones.real > 2, "pmc": ones.real > 2, "mu": ones}):
    for adjoint in (False, True):
        cg_solver(1 + 0.1j, cells, current, 2 * ones, adjoint=adjoint, max_iters=5, **materials)
