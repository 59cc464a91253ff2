"""Two hundred judged results instead of twenty judged lists: what they are worth, measured."""
