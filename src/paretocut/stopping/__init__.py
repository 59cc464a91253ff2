"""When to stop reading: rules for reviews that read down one ranked list.

`Certificate` tests this review alone. `Quantile` uses the depth that was enough in earlier reviews.
`Target` uses a random sample. `plan` estimates the cost of each beforehand.

Each rule has ``replay`` for a finished review and ``review`` for a running one, whose ``state``
says after every document whether to stop, and what is known about the recall. The best guess of
the recall and its interval come from an urn test, at levels that were right on average in 58
rankings of 43 reviews; `Target` takes them from its sample. `Protocol` keeps the rule and every
look in a file.
"""

from paretocut.stopping.planning import Price, plan
from paretocut.stopping.protocol import Protocol
from paretocut.stopping.review import Review, State
from paretocut.stopping.rules import Certificate, Quantile
from paretocut.stopping.target import Target

__all__ = ["Certificate", "Price", "Protocol", "Quantile", "Review", "State", "Target", "plan"]
