"""BiCut: a bidirectional LSTM that decides at each result whether to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from paretocut.errors import InvalidScoresError
from paretocut.lists import FloatArray, IntArray, RankedLists
from paretocut.metrics import MetricLike
from paretocut.schema.kinds import Either, Flag, Items, Kind, Real
from paretocut.truncators.neural.batches import Batch
from paretocut.truncators.neural.training import Training
from paretocut.truncators.neural.truncator import NeuralTruncator, Normalization

if TYPE_CHECKING:
    from torch import Tensor


_ALPHAS = (0.2, 0.35, 0.5, 0.65, 0.8, 0.9)


class BiCut(NeuralTruncator):
    """Cut before the first result at which a bidirectional LSTM says "end".

    Parameters
    ----------
    metric
        Metric used to choose the weight of the loss and the epoch. The loss itself uses no metric.
    alpha
        Weight of non-relevant against relevant results in the loss, in (0, 1): a higher one
        cuts earlier. None chooses among 0.2, 0.35, 0.5, 0.65, 0.8 and 0.9.
    encodings
        Whether the network also sees ``doc_embeddings``.
    normalize
        Scale of the scores: "raw", "max", "minmax" or "z"; see `ScoreThreshold`. The published
        model uses raw scores, which separate good lists from bad ones if scores are comparable
        across queries; "minmax" shows the shape of each list and does better on TREC runs.
    max_steps
        Largest number of results that the network sees one by one. In longer lists, the ranks of
        the second half of the steps grow by a constant ratio; the list is cut only at a step.
    width, layers, dropout
        The LSTM's units in each direction, its layers, and the share of units left out while
        training.
    training
        How the network is trained; by default for at most 40 epochs.

    Attributes
    ----------
    alpha_, balance_
        The weight in use, and the ``w_0, w_1`` below of each candidate.
    weights_, network_, center_, spread_, output_
        The network: tensors, sizes, scale of its inputs, and the number of the output in use.
    history_, epoch_
        Metric on the held-out lists after each epoch, and the epoch (from 0) that was kept.

    Notes
    -----
    Result ``i`` gets a probability ``p_i`` to continue; the loss is ``sum_i w_{y_i} |y_i - p_i|``
    with ``w_0 = alpha / (1 - r)`` and ``w_1 = (1 - alpha) / r``, ``r`` being the share of relevant
    results. The cut is before the first ``p_i < 0.5``, so it can be 0. All candidate weights are
    trained at once, as outputs of one network. The defaults are the published settings, except for
    the learning rate (1e-4 there, with many more epochs) and the weight (0.65 for F1).

    References
    ----------
    Y.-C. Lien, D. Cohen and W. B. Croft, "An Assumption-Free Approach to the Dynamic Truncation
    of Ranked Lists", ICTIR 2019.

    Examples
    --------
    >>> BiCut("penalized_dcg", alpha=0.65)
    BiCut(metric='penalized_dcg', alpha=0.65)
    """

    alpha_: float
    balance_: list[list[float]]

    parameters: ClassVar = {
        **NeuralTruncator.parameters,
        "alpha": Either(Real(above=0, below=1)),
        "encodings": Flag(),
    }
    network = "BiCutNetwork"

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        alpha: float | None = None,
        encodings: bool = False,
        normalize: Normalization = "minmax",
        max_steps: int = 300,
        width: int = 128,
        layers: int = 2,
        dropout: float = 0.1,
        training: Training = Training(max_epochs=40),
    ) -> None:
        super().__init__(metric, normalize, max_steps, width, layers, dropout, training)
        self.alpha = alpha
        self.encodings = encodings

    def learn(self, lists: RankedLists) -> None:
        super().learn(lists)
        self.alpha_ = self._alphas()[self.output_]

    def _alphas(self) -> tuple[float, ...]:
        return _ALPHAS if self.alpha is None else (self.alpha,)

    def _outputs(self) -> int:
        return len(self._alphas())

    def _settings(self, inputs: int) -> dict[str, Any]:
        return {**super()._settings(inputs), "outputs": self._outputs()}

    @property
    def state(self) -> dict[str, Kind]:
        pairs = Items(Items(Real(0), size=2), size=self._outputs())
        return {**super().state, "alpha_": Real(0, 1), "balance_": pairs}

    def _prepare(self, lists: RankedLists) -> None:
        relevant = lists.relevant.values
        # Either kind may be missing altogether; half a result of each stands in for it.
        share = float(relevant.sum() + 0.5) / (relevant.size + 1)
        self.balance_ = [[alpha / (1 - share), (1 - alpha) / share] for alpha in self._alphas()]

    def _encodings(self, lists: RankedLists) -> NDArray[Any] | None:
        if not self.encodings:
            return None
        encodings = lists.doc_embeddings
        if encodings is None:
            raise InvalidScoresError(
                "BiCut: lists must have doc_embeddings when encodings=True, got none"
            )
        trained = getattr(self, "center_", None)
        if trained is not None and len(trained) != encodings.shape[1] + 1:
            raise InvalidScoresError(
                f"BiCut: doc_embeddings must have {len(trained) - 1} dimensions, as in training, "
                f"got {encodings.shape[1]}"
            )
        return encodings

    def _loss(self, output: Tensor, batch: Batch) -> Tensor:
        # |y - p| summed over the results of a step, of which some may be relevant.
        go_on = output.sigmoid()
        weight = output.new_tensor(self.balance_)
        wrong = weight[:, 0] * batch.other[:, :, None] * go_on
        missed = weight[:, 1] * batch.relevant[:, :, None] * (1 - go_on)
        return (wrong + missed).sum(dim=(1, 2)).mean()

    def _steps(self, output: FloatArray, lengths: IntArray) -> IntArray:
        end = output < 0  # p < 0.5 before the sigmoid
        first: IntArray = np.where(end.any(axis=1), end.argmax(axis=1), output.shape[1])
        return np.minimum(first, lengths[:, None])
