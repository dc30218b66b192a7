"""Spool: append-only files that a traced process writes and that survive its death.

    NAME.cltrace.parts/              0700, beside the trace that it becomes
        session.json                 command and settings, written by the recording process's parent
        outcome.json                 exit status of the command; missing while it runs
        untraced-PID.txt             why process PID, or a child of it, is not traced
        PID-START/                   a traced process; START is its start time in clock ticks
            records.jsonl            records, one per line (`spool.codec`)
            TABLE.rows               a row table: 64-bit integers, row after row
            contents.bin             captured contents of buffers and images, deflated
            released.slots           one word per memory object, written when it is destroyed

Every file is read up to its last whole entry, so a spool that ends in the middle of a write loses only
that entry.
"""
