"""Every truncator on 44 judged runs."""
