"""A hierarchy and an image encoder of CLOgmaNeo, a few steps each."""

from pathlib import Path

import numpy as np
import ogmaneo
import pyopencl as cl
import pyopencl.array
from ogmaneo.hierarchy import Hierarchy
from ogmaneo.imageenc import ImageEnc

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
package = Path(ogmaneo.__file__).parent
core, extra = (
    cl.Program(context, (package / name).read_text()).build() for name in ("core.cl", "extra.cl")
)
try:
    hierarchy = Hierarchy(
        queue,
        core,
        [Hierarchy.IODesc(size=(2, 2, 8))],
        [Hierarchy.LayerDesc(hidden_size=(3, 3, 8)) for _ in range(2)],
    )
    for step in range(5):
        hierarchy.step(queue, [cl.array.to_device(queue, np.full(4, step, np.int32))])
except Exception as error:  # the encoder below is tried all the same
    print("hierarchy", repr(error))
encoder = ImageEnc(queue, core, extra, (3, 3, 8), [ImageEnc.VisibleLayerDesc(size=(12, 12, 3))])
picture = cl.array.to_device(queue, np.full(12 * 12 * 3, 0.5, np.float32))
for _ in range(3):
    encoder.step(queue, [picture])
encoder.reconstruct(queue, encoder.hidden_states)
