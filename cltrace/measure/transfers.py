"""Timing of transfers between host and device by the host, from the call to its return."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import perf_counter_ns

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from cltrace.errors import WorkloadError
from cltrace.events.workloads import Direction, HostMemory, Transfer
from cltrace.measure.bench import Bench
from cltrace.measure.repetition import Repetitions, StopRule, repeat

_Bytes = NDArray[np.uint8]


def time_transfer(bench: Bench, transfer: Transfer, rule: StopRule) -> Repetitions:
    """Time a transfer by the host's clock, until the bytes have arrived.

    The device's own stamps do not show this: drivers buffer small transfers, and map memory before or
    after the command. Raises: `WorkloadError`.
    """
    try:
        with prepare_transfer(bench, transfer) as run:
            return repeat(lambda: _host_ns(run), rule)
    except (cl.Error, MemoryError) as error:
        raise WorkloadError(
            f"a transfer of {transfer.size_bytes:,} B cannot run: {error}"
        ) from error


def _host_ns(run: Callable[[], None]) -> float:
    began = perf_counter_ns()
    run()
    return float(perf_counter_ns() - began)


@contextmanager
def prepare_transfer(bench: Bench, transfer: Transfer) -> Iterator[Callable[[], None]]:
    """Allocate memory on both sides and yield a function that does the transfer and waits for it."""
    flags = cl.mem_flags.READ_WRITE
    buffer = cl.Buffer(bench.context, flags, transfer.size_bytes)
    with _host_side(bench, transfer) as host:
        host[:] = 3
        bench.queue.finish()
        match transfer.memory, transfer.direction:
            case HostMemory.MAPPED, Direction.TO_DEVICE:
                yield lambda: _write_mapped(bench, buffer, host)
            case HostMemory.MAPPED, Direction.FROM_DEVICE:
                yield lambda: _read_mapped(bench, buffer, host)
            case _, Direction.TO_DEVICE:
                yield lambda: _write(bench, buffer, host)
            case _, Direction.FROM_DEVICE:
                yield lambda: _read(bench, buffer, host)
    buffer.release()


@contextmanager
def _host_side(bench: Bench, transfer: Transfer) -> Iterator[_Bytes]:
    if transfer.memory is not HostMemory.PINNED:
        yield np.empty(transfer.size_bytes, np.uint8)
        return
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
    pinned = cl.Buffer(bench.context, flags, transfer.size_bytes)
    mapped, _ = cl.enqueue_map_buffer(
        bench.queue, pinned, cl.map_flags.WRITE, 0, (transfer.size_bytes,), np.dtype(np.uint8)
    )
    try:
        yield mapped
    finally:
        with suppress(cl.Error):
            mapped.base.release(bench.queue)
            bench.queue.finish()
            pinned.release()


def _write(bench: Bench, buffer: cl.Buffer, host: _Bytes) -> None:
    cl.enqueue_copy(bench.queue, buffer, host, is_blocking=True)
    bench.queue.finish()


def _read(bench: Bench, buffer: cl.Buffer, host: _Bytes) -> None:
    cl.enqueue_copy(bench.queue, host, buffer, is_blocking=True)


def _write_mapped(bench: Bench, buffer: cl.Buffer, host: _Bytes) -> None:
    flags = cl.map_flags.WRITE_INVALIDATE_REGION
    mapped, _ = cl.enqueue_map_buffer(bench.queue, buffer, flags, 0, host.shape, host.dtype)
    mapped[:] = host
    mapped.base.release(bench.queue)
    bench.queue.finish()


def _read_mapped(bench: Bench, buffer: cl.Buffer, host: _Bytes) -> None:
    flags = cl.map_flags.READ
    mapped, _ = cl.enqueue_map_buffer(bench.queue, buffer, flags, 0, host.shape, host.dtype)
    host[:] = mapped
    mapped.base.release(bench.queue)
    bench.queue.finish()
