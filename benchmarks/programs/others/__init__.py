"""Programs that call libraries of others, one library each, whose traces score predictions."""
