"""Choppy: a transformer that gives every cut a probability, trained on the metric itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from paretocut.errors import InvalidParameterError
from paretocut.metrics import MetricLike
from paretocut.schema.kinds import Whole
from paretocut.truncators.neural.batches import Batch
from paretocut.truncators.neural.training import Training
from paretocut.truncators.neural.truncator import NeuralTruncator, Normalization

if TYPE_CHECKING:
    from torch import Tensor


class Choppy(NeuralTruncator):
    """Cut where a transformer over the list puts the most probability, "nothing" included.

    Parameters
    ----------
    metric
        Metric to maximise: a name, a `Metric` or a function; see `paretocut.metrics.get`.
    normalize, max_steps
        As in `BiCut`.
    width, layers, heads, dropout
        The transformer's width, its layers, attention heads in each (they must divide the
        width), and the share of units left out while training.
    training
        How the network is trained; by default for at most 20 epochs.

    Attributes
    ----------
    weights_, network_, center_, spread_, output_, history_, epoch_
        As in `BiCut`; ``output_`` is 0.

    Notes
    -----
    The loss is minus the expected metric, ``-sum_k p_k metric(k)`` over ``k = 0..n``; the cut is
    the most probable ``k``. The published model has no ``k = 0``; here a learned row before the
    list stands for it. Once one cut has all the probability, the loss is flat, so training can get
    stuck at one cut for all lists. The defaults are the published settings, except for the batch
    (64 there, with many more epochs), the hidden layers (four times the width) and the vectors of
    the ranks, which start small: at torch's usual size they drown the scores.

    References
    ----------
    D. Bahri, Y. Tay, C. Zheng, D. Metzler and A. Tomkins, "Choppy: Cut Transformer for Ranked
    List Truncation", SIGIR 2020.

    Examples
    --------
    >>> Choppy("penalized_dcg", layers=1)
    Choppy(metric='penalized_dcg', layers=1)
    """

    parameters: ClassVar = {
        **NeuralTruncator.parameters,
        "width": Whole(3, 10**5),  # a score, a rank, and room for the learned vector of the rank
        "heads": Whole(1),
    }
    network = "ChoppyNetwork"

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        normalize: Normalization = "minmax",
        max_steps: int = 300,
        width: int = 128,
        layers: int = 3,
        heads: int = 8,
        dropout: float = 0.1,
        training: Training = Training(max_epochs=20),
    ) -> None:
        super().__init__(metric, normalize, max_steps, width, layers, dropout, training)
        self.heads = heads

    def check(self) -> None:
        super().check()
        if self.width % self.heads:
            raise InvalidParameterError(f"Choppy: heads must divide {self.width}, got {self.heads}")

    def _settings(self, inputs: int) -> dict[str, Any]:
        own = {"heads": self.heads, "positions": self.max_steps + 1}
        return {**super()._settings(inputs), **own}

    def _loss(self, output: Tensor, batch: Batch) -> Tensor:
        chance = output.masked_fill(batch.beyond(), -np.inf).softmax(dim=1)
        return -(chance * batch.worth).sum(dim=1).mean()
