"""A circuit with every gate and measurement of QCGPU."""

import numpy as np

np.float = float  # the library is of the time of numpy 1.19
import qcgpu  # noqa: E402

state = qcgpu.State(5)
for gate in ("h", "x", "y", "z", "s", "t", "sqrt_x"):
    getattr(state, gate)(1)
state.cx(0, 1)
state.cnot(1, 2)
state.toffoli(0, 1, 2)
state.u(2, 0.1, 0.2, 0.3)
state.cu(0, 1, 0.1, 0.2, 0.3)
print(state.measure(samples=10), state.probabilities(), state.amplitudes())
for step in (state.measure_first, state.measure_qubit, state.measure_collapse):
    print(step(1))
