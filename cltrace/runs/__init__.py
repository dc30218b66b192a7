"""Running commands as children: samples, scores, revisions, and power readings during a run."""
