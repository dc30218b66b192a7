"""Makes the golden trace of the present schema, which must not exist yet."""

import tempfile
from pathlib import Path

from cltrace.timeline.timekeeping import finalise
from cltrace.trace.schema import SCHEMA_VERSION
from tests.synthetic import write_recording


def main() -> None:
    """Write `schema-N.cltrace`."""
    target = Path(__file__).parent / f"schema-{SCHEMA_VERSION}.cltrace"
    if target.exists():
        raise SystemExit(f"{target} exists: a golden trace is never made again")
    with tempfile.TemporaryDirectory() as scratch:
        finalise(write_recording(Path(scratch) / "made.cltrace"), target)


if __name__ == "__main__":
    main()
