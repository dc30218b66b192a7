"""Two scenes on one axis: the tracks of the first trace above those of the second."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from cltrace.report.page.renamed_kernels import Rename
from cltrace.report.tracks.scene import (
    NONE,
    CommandLinks,
    CounterLevel,
    NameKind,
    Scene,
    SliceName,
    Track,
    join_slices,
)
from cltrace.timeline.columns import Int64s

_Shared = TypeVar("_Shared", str, SliceName)


@dataclass(frozen=True, slots=True)
class JoinedScene:
    """Two scenes as one, and how much of it belongs to the first: `tracks`, `levels` and `slices`."""

    scene: Scene
    tracks: int
    levels: int
    slices: int


def join_scenes(
    first: Scene, second: Scene, labels: tuple[str, str], renames: Sequence[Rename] = ()
) -> JoinedScene:
    """Return both scenes as one, each at its own time. `labels` name the traces above their tracks.

    Names and places that both have are one, so that a kernel has one colour and one search. Kernels that
    were renamed have both names.
    """
    names, name_of = _merge_names(first.names, second.names, renames)
    sites, site_of = _merge(first.sites, second.sites)
    processes_of = [
        _numbers(first, 1),
        _numbers(second, 1 + len(first.processes) + 1),
    ]
    sides = list(zip((first, second), processes_of, labels, strict=True))
    slices = replace(
        second.slices,
        name=name_of[second.slices.name],
        site=site_of[second.slices.site],
        command=_moved(second.slices.command, len(first.links.id)),
    )
    scene = Scene(
        begin_ns=min(first.begin_ns, second.begin_ns),
        end_ns=max(first.end_ns, second.end_ns),
        tracks=tuple(_own_tracks(*sides[0][:2]) + _own_tracks(*sides[1][:2])),
        row_sizes=np.concatenate([first.row_sizes, second.row_sizes]),
        slices=join_slices([first.slices, slices]),
        names=names,
        sites=sites,
        launches=(*first.launches, *second.launches),
        has_arguments=first.has_arguments and second.has_arguments,
        processes={
            number: text for side in sides for number, text in _process_labels(*side).items()
        },
        links=_join_links(first, second),
        levels=tuple(_own_levels(*sides[0][:2]) + _own_levels(*sides[1][:2])),
        merged_below_ns=max(first.merged_below_ns, second.merged_below_ns),
    )
    return JoinedScene(scene, len(first.tracks), len(first.levels), len(first.slices))


def _merge_names(
    first: Sequence[SliceName], second: Sequence[SliceName], renames: Sequence[Rename]
) -> tuple[tuple[SliceName, ...], Int64s]:
    """Return all different names, and the place of each second, where renamed kernels have one name."""
    before = {each.before: each.text for each in renames}
    after = {each.after: each.text for each in renames}
    return _merge(_with_renames(first, before), _with_renames(second, after))


def _with_renames(names: Sequence[SliceName], texts: Mapping[str, str]) -> list[SliceName]:
    return [
        replace(name, text=texts.get(name.text, name.text))
        if name.kind is NameKind.KERNEL
        else name
        for name in names
    ]


def _merge(
    first: Sequence[_Shared], second: Sequence[_Shared]
) -> tuple[tuple[_Shared, ...], Int64s]:
    """Return all different values, those of the first at their places, and the place of each second."""
    places = {value: at for at, value in reversed(list(enumerate(first)))}
    merged = list(first)
    numbers = []
    for value in second:
        if value not in places:
            places[value] = len(merged)
            merged.append(value)
        numbers.append(places[value])
    return tuple(merged), np.array(numbers, np.int64)


def _numbers(scene: Scene, whole: int) -> dict[int, int]:
    """Return the number in the joined scene of each process; 0, of all processes, has `whole`."""
    several = len(scene.processes) > 1
    return {
        0: whole,
        **{
            process: whole + (position if several else 0)
            for position, process in enumerate(scene.processes, 1)
        },
    }


def _process_labels(scene: Scene, numbers: dict[int, int], label: str) -> dict[int, str]:
    letter = label.partition(":")[0]
    own = {numbers[process]: f"{letter}: {text}" for process, text in scene.processes.items()}
    return {**own, numbers[0]: label}


def _own_tracks(scene: Scene, numbers: dict[int, int]) -> list[Track]:
    return [
        replace(track, process=numbers.get(track.process, numbers[0])) for track in scene.tracks
    ]


def _own_levels(scene: Scene, numbers: dict[int, int]) -> list[CounterLevel]:
    return [
        replace(level, process=numbers.get(level.process, numbers[0])) for level in scene.levels
    ]


def _moved(positions: Int64s, by: int) -> Int64s:
    return np.where(positions == NONE, NONE, positions + by)


def _join_links(first: Scene, second: Scene) -> CommandLinks:
    """Return the links of both scenes, with those of the second to where its parts are."""
    slices, commands = len(first.slices), len(first.links.id)
    own, links = first.links, second.links
    moved = replace(
        links,
        host_slice=_moved(links.host_slice, slices),
        device_slice=_moved(links.device_slice, slices),
        launch=np.where(links.launch == 0, 0, links.launch + len(first.launches)),
        queue_before=_moved(links.queue_before, commands),
        last_before=_moved(links.last_before, commands),
        edges=links.edges + commands,
        waits=links.waits + np.array([slices, commands]),
    )
    return CommandLinks(
        **{
            name: np.concatenate([getattr(own, name), getattr(moved, name)])
            for name in CommandLinks.__slots__
        }
    )
