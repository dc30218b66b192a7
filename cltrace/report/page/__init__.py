"""Pages for the browser: self-contained files that fetch nothing."""
