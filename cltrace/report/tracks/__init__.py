"""Rows, levels and links of a timeline: what the page and the exports draw."""
