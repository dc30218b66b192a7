"""Our own typed form of a compiled program, read from the text of LLVM IR."""
