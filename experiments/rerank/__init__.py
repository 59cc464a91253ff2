"""How deep to re-rank: published depths and ours, on the same list."""
