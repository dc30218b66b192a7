"""What a trace says, for people and programs: one file a subject, one file a format.

A subject makes a `Document` of tables; a format turns any document into text. Nothing here prints.
"""
