"""Definitions of views in older versions of the schema, where they differ from today's.

They are never executed. Their digests serve to accept files of older versions, and to refuse files with
any other view.
"""

import hashlib
from typing import Final

_V_COMMAND_WITH_LAUNCH: Final = "b2075c7d6dea4bbc9fdca98a841fbc02397848b2bd76222c526abf58647df883"
_DIGESTS: Final = {
    1: {
        "v_command": "ce467d65098eb6313f9ce5fa4d85b5b0c5ae01367761107dab914cb82e64f07d",
    },
    2: {"v_command": _V_COMMAND_WITH_LAUNCH},
    3: {"v_command": _V_COMMAND_WITH_LAUNCH},
}
"""SHA-256 of a view's CREATE statement, by schema version and view name."""


def is_older_view_sql(version: int, name: object, sql: object) -> bool:
    """Return whether `sql` is the statement that defined the view in that schema version."""
    digest = _DIGESTS.get(version, {}).get(str(name))
    return digest is not None and hashlib.sha256(str(sql).encode()).hexdigest() == digest
