"""Control-flow and data-flow analysis of a kernel: inlining, promotion, loops, slices, taint."""
