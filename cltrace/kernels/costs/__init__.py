"""Cost classes of operations."""
