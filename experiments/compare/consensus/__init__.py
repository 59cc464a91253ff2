"""`Consensus` against simple rules on 63 lists, and what it learns from other collections."""
