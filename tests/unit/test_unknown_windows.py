"""Windows around places that contents give, of images as well, and places in private variables."""

import numpy as np
import pytest

from cltrace.kernels import BufferArgument, ImageArgument, KernelCounts, count, parse
from cltrace.kernels.counts.records import AccessSite, Pattern

WIDTH, HEIGHT = 256, 64
ITEMS = WIDTH * HEIGHT
WINDOW = """
__kernel void window(__global const float *moved, __global float *out, int n, float radius) {
    int i = get_global_id(0);
    float at = i + moved[i], sum = 0;
    int first = FIRST, last = LAST;
    for (int x = first; x <= last; ++x) sum += x * 0.5f;
    out[i] = sum;
}
"""
ENDS = {
    "rounded": ("ceil(at - 2.0f)", "floor(at + 2.0f)", 4.0),
    "converted": ("(int)at - 3", "(int)at + 3", 7.0),
    "argument": ("floor(at - radius)", "floor(at + radius)", 11.0),
    "multiplied": ("floor(mad(2.0f, at, -1.0f))", "floor(fma(at, 2.0f, 3.5f))", 5.5),
    "limited": ("max((int)at - 1, 0)", "min((int)at + 1, n - 1)", 3.0),
}


def count_window(first: str, last: str, moved: np.ndarray | None = None) -> KernelCounts:
    source = WINDOW.replace("FIRST", first).replace("LAST", last)
    buffers = [BufferArgument(4 * ITEMS, moved), BufferArgument(4 * ITEMS)]
    return count(parse(source), "window", (ITEMS,), (64,), [*buffers, ITEMS, np.float32(5)])


@pytest.mark.parametrize("ends", ENDS)
def test_windows_around_unknown_places_have_known_trips(ends: str) -> None:
    first, last, trips = ENDS[ends]
    counts = count_window(first, last)
    (loop,) = counts.loops
    assert loop.is_assumed
    assert loop.trips.value == pytest.approx(trips, abs=0.51)
    moved = np.random.default_rng(3).uniform(2, 9, ITEMS).astype(np.float32)
    known = count_window(first, last, moved)
    assert loop.trips.value == pytest.approx(known.loops[0].trips.value, abs=0.51)
    assert any("by the distance of its ends" in each.meaning for each in counts.assumptions)


@pytest.mark.parametrize(
    ("first", "last"),
    [("(int)at", "(int)moved[i + 1]"), ("(int)at", "2 * (int)at + 1"), ("0", "(int)(at * at)")],
)
def test_other_ends_have_a_usual_number_of_trips(first: str, last: str) -> None:
    (loop,) = count_window(first, last).loops
    assert loop.trips.value == pytest.approx(16, abs=1.1)


SAMPLED = """
__constant sampler_t nearest = CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__kernel void warped(read_only image2d_t source, __global const float *moved, __global float *out) {
    int x = get_global_id(0), y = get_global_id(1), i = y * get_image_width(source) + x;
    if (x >= get_image_width(source) || y >= get_image_height(source)) return;
    float sum = 0;
    for (int k = 0; k < 4; ++k)
        sum += read_imagef(source, nearest, (float2)(x + moved[i] + k, y)).x;
    out[i] = sum;
}
__kernel void layers(read_only image3d_t source, __global float *out) {
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int z = 0; z < get_image_depth(source); ++z)
        sum += read_imagef(source, nearest, (int4)(x, y, z, 0)).x;
    out[y * get_image_width(source) + x] = sum;
}
"""


def test_images_are_read_around_places() -> None:
    image = ImageArgument(WIDTH, height=HEIGHT, channels=1)
    buffers = [BufferArgument(4 * ITEMS)] * 2
    counts = count(parse(SAMPLED), "warped", (WIDTH, HEIGHT), (32, 8), [image, *buffers])
    (site,) = image_sites(counts)
    assert site.sectors.value / site.requests.value <= 5.1
    assert site.sectors.value < site.sectors.high / 5
    assert any("neighbouring texels" in each.meaning for each in counts.assumptions)
    # No branch depends on what is in the image: its size is known.
    assert all(not branch.is_assumed for branch in counts.branches)


def test_the_size_of_an_image_is_known() -> None:
    image = ImageArgument(WIDTH, height=HEIGHT, depth=37, channels=1)
    counts = count(
        parse(SAMPLED), "layers", (WIDTH, HEIGHT), (32, 8), [image, BufferArgument(4 * ITEMS)]
    )
    (loop,) = counts.loops
    assert loop.trips.value == 37
    assert not loop.is_assumed
    assert counts.assumptions == ()


def image_sites(counts: KernelCounts) -> list[AccessSite]:
    return [site for site in counts.sites if site.memory == "source"]


BINS = """
__kernel void bins(__global const int *values, __global int *out, int used) {
    int own[64], i = get_global_id(0), most = 0;
    for (int k = 0; k < used; ++k) own[k] = 0;
    for (int k = 0; k < 100; ++k) own[values[i + k] & 63]++;
    for (int k = 0; k < used; ++k) most = max(most, own[k]);
    out[i] = most;
}
"""


def test_unknown_places_in_a_private_variable_are_among_those_in_use() -> None:
    def sectors(used: int) -> float:
        buffers = [BufferArgument(4 * (ITEMS + 100)), BufferArgument(4 * ITEMS)]
        counts = count(parse(BINS), "bins", (ITEMS,), (64,), [*buffers, used])
        sites = [site for site in counts.sites if site.space == "private" and site.is_assumed]
        assert sites
        return sum(site.sectors.value for site in sites) / sum(
            site.requests.value for site in sites
        )

    # Eight lanes of a sector at one of two places meet it, at one of 64 seldom.
    assert sectors(2) < 9
    assert sectors(64) > 25


GUARDED = """
__kernel void guarded(__global const int *flags, __global const float *in, __global float *out, int n) {
    int i = get_global_id(0), near[3];
    if (flags[i] & 1) return;
    near[0] = i; near[1] = i + n; near[2] = i + 2 * n;
    OVERWRITE
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += in[near[k % 3]];
    out[i] = sum;
}
"""


@pytest.mark.parametrize(
    ("overwrite", "is_assumed"),
    [("", False), ("if (flags[i] & 2) near[1] = i + 1;", True), ("near[1] = flags[i];", True)],
)
def test_a_private_variable_that_is_set_behind_a_guard_is_known(
    overwrite: str, *, is_assumed: bool
) -> None:
    """All work-items that come to the reads have set it, whoever they are."""
    buffers = [BufferArgument(4 * ITEMS), BufferArgument(16 * ITEMS), BufferArgument(4 * ITEMS)]
    source = GUARDED.replace("OVERWRITE", overwrite)
    counts = count(parse(source), "guarded", (ITEMS,), (64,), [*buffers, 64])
    reads = [site for site in counts.sites if site.memory == "in"]
    assert {site.is_assumed for site in reads} == {is_assumed}
    if not is_assumed:
        # Half of the lanes, any of them, touch the sectors that all would: not some at random places.
        assert {site.pattern for site in reads} == {Pattern.RUNS}


@pytest.mark.parametrize("radius", [float("inf"), float("nan")])
def test_ends_that_are_no_numbers_have_a_usual_number_of_trips(radius: float) -> None:
    source = WINDOW.replace("FIRST", "floor(at - radius)").replace("LAST", "floor(at + radius)")
    buffers = [BufferArgument(4 * ITEMS)] * 2
    counts = count(parse(source), "window", (ITEMS,), (64,), [*buffers, ITEMS, np.float32(radius)])
    assert counts.loops[0].trips.value == pytest.approx(16, abs=1.1)


HASHED = """
__kernel void hashed(__global const uint *in, __global float *out) {
    uint h = in[get_global_id(0)];
    ROUNDS
    int last = h & 15;
    float sum = 0;
    for (int j = 0; j < last; ++j) sum += out[j];
    out[get_global_id(0)] = sum;
}
"""


def test_hashes_are_looked_through_once() -> None:
    rounds = "h ^= h << 13; h ^= h >> 17; h = h * 5 + (h << 5); h += h;" * 12
    buffers = [BufferArgument(4 * ITEMS)] * 2
    counts = count(parse(HASHED.replace("ROUNDS", rounds)), "hashed", (ITEMS,), (64,), buffers)
    assert counts.loops[0].trips.value == pytest.approx(16, abs=1.1)


WRITTEN = """
__kernel void written(__global const int *places, __global int *out) {
    int own[64], i = get_global_id(0), sum = 0;
    own[0] = i;
    for (int k = 0; k < 64; ++k) own[places[i + k] & 63] = k;
    for (int k = 0; k < 64; ++k) sum += own[places[i + k] & 63];
    out[i] = sum;
}
"""


def test_places_that_are_written_are_in_use() -> None:
    buffers = [BufferArgument(4 * (ITEMS + 64)), BufferArgument(4 * ITEMS)]
    counts = count(parse(WRITTEN), "written", (ITEMS,), (64,), buffers)
    assumed = [site for site in counts.sites if site.space == "private" and site.is_assumed]
    assert len(assumed) == 2
    for site in assumed:
        assert site.sectors.value / site.requests.value > 20
