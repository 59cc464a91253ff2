"""How a network is trained."""

from __future__ import annotations

from dataclasses import dataclass, fields

from paretocut.errors import InvalidParameterError
from paretocut.schema.parameters import (
    check_bool,
    check_int,
    check_positive_int,
    check_probability,
    check_real,
)

__all__ = ["Training"]


@dataclass(frozen=True, repr=False)
class Training:
    """How a network is trained: `BiCut`, `Choppy` and `AttnCut` take it as ``training``.

    Parameters
    ----------
    max_epochs
        Largest number of passes over the training lists.
    patience
        Training stops after this many epochs without a better value on the held-out lists.
    learning_rate
        Step size of Adam.
    batch_size
        Lists in each step; fewer where an epoch would have less than eight steps.
    held_out
        Share of the training lists that only check the network.
    seed
        Fixes the first weights, the order of the lists and which lists are held out.
    device
        Where torch computes. Only "cpu" gives the same weights each time.
    progress
        Show a bar while training, if tqdm is installed and stderr is a terminal.

    Examples
    --------
    >>> Training(max_epochs=50, patience=10)
    Training(max_epochs=50)
    """

    max_epochs: int = 30
    patience: int = 10
    learning_rate: float = 1e-3
    batch_size: int = 20
    held_out: float = 0.2
    seed: int = 0
    device: str = "cpu"
    progress: bool = False

    def __post_init__(self) -> None:
        who = "Training"
        for name in ("max_epochs", "patience", "batch_size"):
            check_positive_int(getattr(self, name), who=who, name=name)
        check_real(self.learning_rate, who=who, name="learning_rate", low=0)
        check_probability(self.held_out, who=who, name="held_out")
        check_int(self.seed, who=who, name="seed")
        check_bool(self.progress, who=who, name="progress")
        if not isinstance(self.device, str):
            raise InvalidParameterError(
                f"{who}: device must be a name such as 'cpu' or 'cuda', got {self.device!r}"
            )

    def __repr__(self) -> str:
        own = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        changed = [f"{name}={value!r}" for name, value, default in own if value != default]
        return f"Training({', '.join(changed)})"
