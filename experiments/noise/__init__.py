"""What the rules promise on lists of pure chance, simulated."""
