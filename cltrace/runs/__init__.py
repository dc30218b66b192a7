"""Running commands as children: samples, scores, revisions, power beside a run."""
