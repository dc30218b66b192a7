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
        for version in spool.records(ContentVersion):
            self._add_version(spool, version, ids)

    def _add_captured(self, spool: ProcessSpool, launches: Sequence[int], ids: TraceIds) -> None:
        added = set()
        for content, launch_id in zip(spool.records(Content), launches, strict=True):
            where = ids.of("buffer", content.buffer_id), ids.of("launch", launch_id)
            if where in added:
                continue
            added.add(where)
            data_id = self._ids.get(content.sha256)
            if data_id is None:
                stored = spool.stored_content(content)
                data_id = self._add_data(content.sha256, content.size_bytes, stored)
            self._database.insert(schema.CONTENT, [(*where, content.written_host_ns, data_id)])

    def _add_version(self, spool: ProcessSpool, version: ContentVersion, ids: TraceIds) -> None:
        """Add contents that are those of a buffer until its next version.

        Contents that a machine lost when it failed are as unknown as those that something else wrote.
        """
        data_id = None
        with suppress(SpoolError):
            data = b"" if version.size_bytes == _LOST_BYTES else spool.plain_content(version)
            digest = hashlib.sha256(data).hexdigest()
            data_id = self._ids.get(digest)
            if data and data_id is None:
                data_id = self._add_data(digest, len(data), zlib.compress(data, _ZLIB_LEVEL))
        buffer_id = ids.of("buffer", version.buffer_id)
        self._database.insert(schema.CONTENT, [(buffer_id, None, version.written_host_ns, data_id)])

    def _add_data(self, digest: str, size_bytes: int, deflated: bytes) -> int:
        data_id = self._ids[digest] = len(self._ids) + 1
        self._database.insert(schema.CONTENT_DATA, [(data_id, digest, size_bytes, deflated)])
        return data_id
