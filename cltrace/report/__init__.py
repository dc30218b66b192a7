"""Reports of traces, profiles and scores: one file per subject, one file per format.

A subject builds a `Document` of tables; a format renders any document as text. Nothing here prints.
"""
