"""One number for each recipe, on shared collections."""
