"""What each rule keeps: of simulated lists with 0, 5 and 20 hits, and of the judged runs."""
