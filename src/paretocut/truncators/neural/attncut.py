"""AttnCut: a bidirectional LSTM with attention that learns how good every cut is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from paretocut.errors import InvalidParameterError
from paretocut.metrics import MetricLike
from paretocut.schema.kinds import Real, Whole
from paretocut.truncators.neural.batches import Batch
from paretocut.truncators.neural.training import Training
from paretocut.truncators.neural.truncator import NeuralTruncator, Normalization

if TYPE_CHECKING:
    from torch import Tensor


class AttnCut(NeuralTruncator):
    """Cut where a recurrent network with attention expects the best metric, "nothing" included.

    Parameters
    ----------
    metric
        Metric to maximise: a name, a `Metric` or a function; see `paretocut.metrics.get`.
    tau
        Temperature, in units of the metric: a small one makes the best cut the only target.
    normalize, max_steps
        As in `BiCut`.
    width, layers, heads, dropout
        The LSTM's units in each direction, its layers, attention heads over its output (they
        must divide twice the width), and the share of units left out while training.
    training
        How the network is trained.

    Attributes
    ----------
    weights_, network_, center_, spread_, output_, history_, epoch_
        As in `BiCut`; ``output_`` is 0.

    Notes
    -----
    Reward-augmented maximum likelihood: the target of a list is ``q_k ~ exp(metric(k) / tau)``
    over ``k = 0..n``, the loss is the cross entropy ``-sum_k q_k log p_k``, the cut is the most
    probable ``k``. Unlike the loss of `Choppy` it has a slope everywhere. With metrics of a wide
    range, such as DCG, ``tau`` should grow with it: at 0.95 the target is nearly the best cut
    alone, the most frequent best cut wins, and that is often "nothing". The published model has
    no ``k = 0`` and also sees statistics of the documents; here a learned row before the list
    stands for "nothing", and scores are the only input. The defaults are the published settings,
    except for the learning rate (3e-5 there, with many more epochs) and the hidden layer (four
    times its input).

    References
    ----------
    C. Wu, R. Zhang, J. Guo, Y. Fan, Y. Lan and X. Cheng, "Learning to Truncate Ranked Lists for
    Information Retrieval", AAAI 2021.

    Examples
    --------
    >>> AttnCut("penalized_dcg", tau=0.5)
    AttnCut(metric='penalized_dcg', tau=0.5)
    """

    parameters: ClassVar = {
        **NeuralTruncator.parameters,
        "tau": Real(above=0),
        "heads": Whole(1),
    }
    network = "AttnCutNetwork"

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        tau: float = 0.95,
        normalize: Normalization = "minmax",
        max_steps: int = 300,
        width: int = 128,
        layers: int = 2,
        heads: int = 4,
        dropout: float = 0.1,
        training: Training = Training(),
    ) -> None:
        super().__init__(metric, normalize, max_steps, width, layers, dropout, training)
        self.tau = tau
        self.heads = heads

    def check(self) -> None:
        super().check()
        if 2 * self.width % self.heads:
            raise InvalidParameterError(
                f"{type(self).__name__}: heads must divide {2 * self.width}, twice the width, "
                f"got {self.heads}"
            )

    def _settings(self, inputs: int) -> dict[str, Any]:
        return {**super()._settings(inputs), "heads": self.heads}

    def _loss(self, output: Tensor, batch: Batch) -> Tensor:
        beyond = batch.beyond()
        target = (batch.worth / self.tau).masked_fill(beyond, -np.inf).softmax(dim=1)
        chance = output.masked_fill(beyond, -np.inf).log_softmax(dim=1)
        # 0 * -inf is nan, and so is its gradient.
        return -(target * chance.masked_fill(beyond, 0.0)).sum(dim=1).mean()
