"""Views as older versions of the schema wrote them, where they read otherwise today.

Nobody reads these in a file: they are known so that a file of an older version can be told from one
that carries something foreign.
"""

import hashlib
from typing import Final

_DIGESTS: Final = {
    1: {
        "v_command": "ce467d65098eb6313f9ce5fa4d85b5b0c5ae01367761107dab914cb82e64f07d",
    },
}
"""SHA-256 of the statement that made a view, by schema version and name."""


def is_of_version(version: int, name: object, sql: object) -> bool:
    """Whether this is the statement with which that version of the schema made its view."""
    digest = _DIGESTS.get(version, {}).get(str(name))
    return digest is not None and hashlib.sha256(str(sql).encode()).hexdigest() == digest
