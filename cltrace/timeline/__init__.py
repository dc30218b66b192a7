"""One clock for the host and the devices of a trace, and analyses of the timeline. Pure functions."""
