"""Fit of a device's clock: from bounds on single stamps to pieces of a map.

Steps, in order:

    observations     bounds that single commands put on the host time of a stamp (`points`)
    epochs           runs of stamps that one counter can have made: no step, no wrap (`epochs`)
    points           bounds on host time minus device time at device times, per epoch (`points`)
    rate spans       stretches over which one straight line satisfies all bounds (`stretches`)
    pieces           lines over the trusted parts of spans, chords between them (`pieces`)

`lines` finds all lines that satisfy a set of bounds; `corridor` bounds a clock whose rate is only known
to lie within limits. `timeline.clocks` makes segments of the pieces.
"""
