"""The spool: append-only files that a traced process writes and that survive its death.

    NAME.cltrace.parts/              0700, beside the trace that it becomes
        session.json                 what was asked for, by the recording process's parent
        outcome.json                 how the command ended; missing while it runs
        untraced-PID.txt             a process that is not traced itself, or whose child is not, and why
        PID-START/                   one traced process; START is its start time in clock ticks
            records.jsonl            records, one a line (`spool.codec`)
            TABLE.rows               a row table: 64-bit integers, row after row
            contents.bin             captured buffers, deflated
            released.slots           one word a memory object, written when it is destroyed

Every file is read up to its last whole entry, so a spool that ends in the middle of a write loses
that entry and nothing else.
"""
