"""Lock-step execution of work-groups on numpy, one lane per work-item."""
