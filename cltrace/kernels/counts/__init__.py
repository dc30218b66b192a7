"""What a launch has to do: operations, memory transactions, divergence, by execution of a sample."""
