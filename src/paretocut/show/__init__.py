"""Pictures of decisions: HTML for notebooks, plots, and a slider."""
