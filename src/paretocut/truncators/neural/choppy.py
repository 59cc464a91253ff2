"""Choppy: a transformer that gives every cut a probability, trained on the metric itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np

from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray, IntArray
from paretocut.metrics import MetricLike
from paretocut.schema.parameters import check_int, check_positive_int
from paretocut.truncators.neural._shapes import encoder, linear
from paretocut.truncators.neural._train import Batch, NeuralTruncator, best_steps

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Choppy"]


class Choppy(NeuralTruncator):
    """Cut where a transformer over the list puts the most probability, "nothing" included.

    Parameters
    ----------
    metric
        What is maximised: a name, a `Metric` or a function; see `paretocut.metrics.get`.
    normalize
        How scores are seen: "raw", "max", "minmax" or "z"; see `BiCut`.
    max_steps
        Results the network looks at one by one, at most; see `BiCut`.
    width, layers, heads, dropout
        The transformer's width, its layers, attention heads in each (they must divide the
        width), and the share of units left out while training.
    learning_rate, batch_size, max_epochs, patience, held_out, seed, device, progress
        The training; see `BiCut`.

    Attributes
    ----------
    weights_, network_, center_, spread_, output_
        The network: tensors, sizes, scale of its inputs, and 0 for its only output.
    history_, epoch_
        Metric on the held-out lists after each epoch, and the epoch (from 0) that was kept.

    Notes
    -----
    The loss is minus the expected metric, ``-sum_k p_k metric(k)`` over ``k = 0..n``; the cut is
    the most probable ``k``. The published model has no ``k = 0``; here a learned row before the
    list stands for it. Of the neural truncators this is the one for DCG and other metrics that
    punish: it weighs a cut by what it brings, not by how often it is the best. Once one cut has
    all the probability the loss has no slope left, so it can get stuck at one cut for all lists.

    Settings are the published ones but for the batch (64 there, with many more epochs), the
    hidden layers (four times the width) and the vectors of the ranks, which start small: at
    torch's usual size they drown the scores, and every list gets the same cut.

    References
    ----------
    D. Bahri, Y. Tay, C. Zheng, D. Metzler and A. Tomkins, "Choppy: Cut Transformer for Ranked
    List Truncation", SIGIR 2020.

    Examples
    --------
    >>> Choppy("dcg", layers=1)
    Choppy(metric='dcg', layers=1)
    """

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        normalize: Literal["raw", "max", "minmax", "z"] = "minmax",
        max_steps: int = 300,
        width: int = 128,
        layers: int = 3,
        heads: int = 8,
        dropout: float = 0.1,
        learning_rate: float = 1e-3,
        batch_size: int = 20,
        max_epochs: int = 20,
        patience: int = 10,
        held_out: float = 0.2,
        seed: int = 0,
        device: str = "cpu",
        progress: bool = False,
    ) -> None:
        super().__init__(
            metric=metric,
            normalize=normalize,
            max_steps=max_steps,
            width=width,
            layers=layers,
            dropout=dropout,
            learning_rate=learning_rate,
            batch_size=batch_size,
            max_epochs=max_epochs,
            patience=patience,
            held_out=held_out,
            seed=seed,
            device=device,
            progress=progress,
        )
        self.heads = heads

    def _validate(self) -> None:
        super()._validate()
        # A score and a rank, and room for the learned vector of the rank.
        width = check_int(self.width, who="Choppy", name="width", low=3)
        if width % check_positive_int(self.heads, who="Choppy", name="heads"):
            raise InvalidParameterError(f"Choppy: heads must divide {width}, got {self.heads}")

    def _own_settings(self) -> dict[str, int]:
        return {"heads": self.heads, "positions": self.max_steps + 1}

    def _shapes(self, inputs: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        yield "start", (inputs,)
        yield "position.weight", (self.max_steps + 1, self.width - inputs)
        yield from encoder("encoder", self.width, self.layers)
        yield from linear("decide", self.width, 1)

    def _loss(self, output: Tensor, batch: Batch) -> Tensor:
        chance = output.masked_fill(batch.beyond(), -np.inf).softmax(dim=1)
        return -(chance * batch.worth).sum(dim=1).mean()

    def _steps(self, output: FloatArray, lengths: IntArray) -> IntArray:
        return best_steps(output, lengths)
