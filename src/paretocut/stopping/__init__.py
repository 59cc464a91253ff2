"""When to stop reading: rules for reviews that read down one ranked list.

`Certificate` tests this review alone. `Quantile` uses the depth that was enough in earlier reviews.
`Target` uses a random sample. Each has ``replay`` for a finished review and ``review`` for a
running one, whose ``state`` says after every document whether to stop. `plan` estimates the cost of
each beforehand, and `Protocol` keeps the rule and every look in a file.
"""

from paretocut.stopping.planning import Price, Protocol, plan
from paretocut.stopping.review import Review, State
from paretocut.stopping.rules import Certificate, Quantile, Target

__all__ = ["Certificate", "Price", "Protocol", "Quantile", "Review", "State", "Target", "plan"]
