"""Whether a program's kernels became slower: samples, baselines, statistics and verdicts."""
