"""The language of domain iterations: plain Python functions, read as text and never executed.

`read_iteration` reads a function through Python's own `ast` into a typed tree. A tree has the meaning
that Python and numpy give to the function, with indices as plain numbers (NEP 50).
"""
