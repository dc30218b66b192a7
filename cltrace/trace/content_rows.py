"""Rows of captured contents of buffers."""

import hashlib
import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from cltrace.errors import SpoolError
from cltrace.events.records import Content, ContentVersion
from cltrace.spool.reader import ProcessSpool
from cltrace.trace import schema
from cltrace.trace.database import TraceDatabase
from cltrace.trace.renumbering import TraceIds

_ZLIB_LEVEL: Final = 1
_LOST_BYTES: Final = -1
"""Size of a version from which on the contents are not known."""
_MAX_DEFLATED_BYTES: Final = 900_000_000
"""Contents that take more are left out: SQLite holds a billion bytes in a value."""


class ContentWriter:
    """Writer of the contents of all processes of a trace, which stores equal ones once."""

    def __init__(self, database: TraceDatabase) -> None:
        self._database = database
        self._ids: dict[str, int] = {}

    def add(self, spool: ProcessSpool, launches: Sequence[int], ids: TraceIds) -> None:
        """Add the contents of a process.

        `launches` are the launch configurations of those that were captured for one, in order. Raises:
        `SpoolError` if they are damaged.
        """
        self._add_captured(spool, launches, ids)
        data_ids: dict[tuple[int, int], int | None] = {}
        for version in spool.records(ContentVersion):
            place = version.position_bytes, version.size_bytes
            if place not in data_ids:
                data_ids[place] = self._data_of(spool, version)
            buffer_id = ids.of("buffer", version.buffer_id)
            row = (buffer_id, None, version.written_host_ns, data_ids[place])
            self._database.insert(schema.CONTENT, [row])

    def _add_captured(self, spool: ProcessSpool, launches: Sequence[int], ids: TraceIds) -> None:
        added = set()
        for content, launch_id in zip(spool.records(Content), launches, strict=True):
            where = ids.of("buffer", content.buffer_id), ids.of("launch", launch_id)
            if where in added:
                continue
            added.add(where)
            data_id = self._ids.get(content.sha256)
            if data_id is None and content.stored_bytes <= _MAX_DEFLATED_BYTES:
                stored = spool.stored_content(content)
                data_id = self._add_data(content.sha256, content.size_bytes, stored)
            self._database.insert(schema.CONTENT, [(*where, content.written_host_ns, data_id)])

    def _data_of(self, spool: ProcessSpool, version: ContentVersion) -> int | None:
        """Add contents that are those of a buffer until its next version; None if they are not known.

        Contents that a machine lost when it failed are as unknown as those that something else wrote.
        """
        if version.size_bytes == _LOST_BYTES:
            return None
        with suppress(SpoolError, MemoryError):
            data = spool.plain_content(version)
            digest = hashlib.sha256(data).hexdigest()
            if digest in self._ids:
                return self._ids[digest]
            deflated = zlib.compress(data, _ZLIB_LEVEL)
            if len(deflated) <= _MAX_DEFLATED_BYTES:
                return self._add_data(digest, len(data), deflated)
        return None

    def _add_data(self, digest: str, size_bytes: int, deflated: bytes) -> int:
        data_id = self._ids[digest] = len(self._ids) + 1
        self._database.insert(schema.CONTENT_DATA, [(data_id, digest, size_bytes, deflated)])
        return data_id
