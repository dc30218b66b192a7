"""Documents rendered: one file per format."""
