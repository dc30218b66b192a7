"""Lock-step execution of a kernel's work-groups on numpy, one lane a work-item."""
