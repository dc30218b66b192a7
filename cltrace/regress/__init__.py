"""Regressions: samples of runs, statistics, verdicts and baselines; and scores of devices."""
