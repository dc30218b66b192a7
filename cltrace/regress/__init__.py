"""Whether a program became slower or does more, and how fast a device is: samples, verdicts, scores."""
