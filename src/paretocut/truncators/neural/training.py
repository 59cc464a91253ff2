"""How a network is trained."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

from paretocut.schema.files import register
from paretocut.schema.kinds import Flag, Real, Text, Whole
from paretocut.schema.parameters import check

_KINDS = {
    "max_epochs": Whole(1),
    "patience": Whole(1),
    "learning_rate": Real(above=0),
    "batch_size": Whole(1),
    "held_out": Real(above=0, below=1),
    "seed": Whole(),
    "device": Text(),
    "progress": Flag(),
}


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
        for name, kind in _KINDS.items():
            value = check(kind, getattr(self, name), who="Training", name=name)
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        own = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        changed = [f"{name}={value!r}" for name, value, default in own if value != default]
        return f"Training({', '.join(changed)})"


register("training", Training, asdict, lambda content: Training(**content))
