"""Intermediate representation: typed records of a compiled program, read from the text of LLVM IR."""
