"""A kernel's control flow: everything inlined, variables made values, blocks in order, loops."""
