"""Cost of a neighbour: times of a device beside a working one, relative to those beside a resting one."""

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

_Row = tuple[str, Any, Any, bool | None]


def compare_neighbour(record: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield the medians of each quantity with the neighbour at rest, and the quotients of its states.

    Quotients are taken within a round; the range is from the lower to the upper quartile of the rounds.
    """
    rounds: dict[int, dict[str, Mapping[str, float]]] = defaultdict(dict)
    for sample in record["samples"]:
        rounds[sample["round"]][sample["state"]] = sample["values"]
    complete = [states for states in rounds.values() if len(states) == 3]
    for name in complete[0]["rest"]:
        alone = [states["rest"][name] for states in complete]
        texts = []
        for state in ("kernels", "transfers"):
            quotients = [states[state][name] / states["rest"][name] for states in complete]
            low, _, high = statistics.quantiles(quotients, n=4) if len(quotients) > 1 else [0, 0, 0]
            middle = statistics.median(quotients)
            texts.append(f"×{middle:.3f} ({low:.3f} … {high:.3f}) beside {state}")
        low, middle, high = min(alone), statistics.median(alone), max(alone)
        expected_text = f"{middle:.4g} ({low:.4g} … {high:.4g}) alone, {len(complete)} rounds"
        yield name, expected_text, "; ".join(texts), None
