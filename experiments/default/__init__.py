"""The default of `pc.cut`: the choice of its one number, and what depth does to its answer."""
