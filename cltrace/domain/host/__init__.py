"""Domain iterations on the host: with numpy, and as C where a compiler is there."""
