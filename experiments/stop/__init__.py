"""When may a review stop reading? Rules and rivals on finished reviews."""
