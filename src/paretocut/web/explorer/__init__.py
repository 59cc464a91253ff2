"""The explorer: a page on which the cut of a ranked list can be dragged, and its report."""
