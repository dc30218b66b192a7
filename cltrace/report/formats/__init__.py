"""Rendering of documents: one file per format."""
