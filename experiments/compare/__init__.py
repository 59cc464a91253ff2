"""Which method cuts best: every method on judged runs, and `Consensus` against simple rules."""
