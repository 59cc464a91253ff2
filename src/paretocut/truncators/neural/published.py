"""The published networks: BiCut, Choppy and AttnCut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from paretocut.errors import InvalidParameterError, InvalidScoresError
from paretocut.lists import FloatArray, IntArray, RankedLists
from paretocut.metrics import MetricLike
from paretocut.schema.kinds import Either, Flag, Items, Kind, Real, Whole
from paretocut.truncators.neural.truncator import Batch, NeuralTruncator, Normalization, Training

if TYPE_CHECKING:
    from torch import Tensor


_ALPHAS = (0.2, 0.35, 0.5, 0.65, 0.8, 0.9)


class BiCut(NeuralTruncator):
    """Cut before the first result at which a bidirectional LSTM says "end".

    Parameters
    ----------
    metric
        Chooses the weight of the loss and the epoch; the loss itself uses no metric.
    alpha
        Weight of non-relevant results in the loss, in (0, 1): a higher one cuts earlier. None
        chooses among 0.2, 0.35, 0.5, 0.65, 0.8 and 0.9.
    encodings
        Whether the network also sees ``doc_embeddings``.
    normalize
        Scale of the scores: "raw" (as published), "max", "minmax" (better on TREC runs) or "z";
        see `ScoreThreshold`.
    max_steps
        Largest number of results that the network sees one by one. In longer lists, the ranks of
        the second half of the steps grow by a constant ratio; the list is cut only at a step.
    width, layers, dropout, training
        Units of the LSTM in each direction, its layers, the share left out while training, and how
        it is trained: by default for at most 40 epochs.

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
    results. The cut is before the first ``p_i < 0.5``. All candidate weights are trained at once,
    as outputs of one network. Published: learning rate 1e-4, many more epochs, weight 0.65 for F1.

    References
    ----------
    Y.-C. Lien, D. Cohen and W. B. Croft, "An Assumption-Free Approach to the Dynamic Truncation
    of Ranked Lists", ICTIR 2019.

    Examples
    --------
    >>> BiCut("penalized_dcg", alpha=0.65)
    BiCut(metric='penalized_dcg', alpha=0.65)
    """

    parameters: ClassVar = {
        **NeuralTruncator.parameters,
        "alpha": Either(Real(above=0, below=1)),
        "encodings": Flag(),
    }
    network = "BiCutNetwork"
    sizes = ("width", "layers", "dropout")

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

    def _alphas(self) -> tuple[float, ...]:
        return _ALPHAS if self.alpha is None else (self.alpha,)

    def learn(self, lists: RankedLists) -> None:
        relevant = lists.relevant.values
        # Either kind may be missing altogether; half a result of each stands in for it.
        share = float(relevant.sum() + 0.5) / (relevant.size + 1)
        self.balance_ = [[alpha / (1 - share), (1 - alpha) / share] for alpha in self._alphas()]
        super().learn(lists)
        self.alpha_ = self._alphas()[self.output_]

    @property
    def state(self) -> dict[str, Kind]:
        many = len(self._alphas())
        pairs = Items(Items(Real(0), size=2), size=many)
        own = {"output_": Whole(high=many - 1), "alpha_": Real(0, 1), "balance_": pairs}
        return {**super().state, **own}

    def _settings(self, inputs: int) -> dict[str, Any]:
        return {**super()._settings(inputs), "outputs": len(self._alphas())}

    def _columns(self, lists: RankedLists) -> FloatArray:
        scores = super()._columns(lists)
        if not self.encodings:
            return scores
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
        return np.column_stack([scores, encodings])

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


class Choppy(NeuralTruncator):
    """Cut where a transformer over the list puts the most probability, "nothing" included.

    Parameters
    ----------
    metric
        Metric to maximise: a name, a `Metric` or a function; see `paretocut.metrics.get`.
    normalize, max_steps, dropout, training
        As in `BiCut`, but for at most 20 epochs.
    width, layers, heads
        Width of the transformer, its layers, and attention heads in each, which divide the width.

    Attributes
    ----------
    weights_, network_, center_, spread_, output_, history_, epoch_
        As in `BiCut`.

    Notes
    -----
    The loss is minus the expected metric, ``-sum_k p_k metric(k)`` over ``k = 0..n``; the cut is
    the most probable ``k``. The published model has no ``k = 0``; here a learned row before the
    list stands for it. Once one cut has all the probability, the loss is flat, so training can get
    stuck at one cut for all lists. Published: batches of 64, many more epochs.

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
    sizes = (*NeuralTruncator.sizes, "max_steps")

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

    def _loss(self, output: Tensor, batch: Batch) -> Tensor:
        chance = output.masked_fill(batch.beyond(), -np.inf).softmax(dim=1)
        return -(chance * batch.worth).sum(dim=1).mean()


class AttnCut(NeuralTruncator):
    """Cut where a recurrent network with attention expects the best metric, "nothing" included.

    Parameters
    ----------
    metric
        Metric to maximise: a name, a `Metric` or a function; see `paretocut.metrics.get`.
    tau
        Temperature, in units of the metric: a small one makes the best cut the only target.
    normalize, max_steps, width, layers, heads, dropout, training
        As in `BiCut`; the attention heads over the output of the LSTM must divide twice the width.

    Attributes
    ----------
    weights_, network_, center_, spread_, output_, history_, epoch_
        As in `BiCut`.

    Notes
    -----
    Reward-augmented maximum likelihood: the target of a list is ``q_k ~ exp(metric(k) / tau)``
    over ``k = 0..n``, the loss is the cross entropy ``-sum_k q_k log p_k``, the cut is the most
    probable ``k``. Unlike the loss of `Choppy` it has a slope everywhere. With metrics of a wide
    range, such as DCG, ``tau`` should grow with it: at 0.95 the most frequent best cut wins, and
    that is often "nothing". The published model has no ``k = 0`` and also sees statistics of the
    documents; it learns at a rate of 3e-5, for many more epochs.

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
            wanted = f"heads must divide {2 * self.width}, twice the width"
            raise InvalidParameterError(f"{type(self).__name__}: {wanted}, got {self.heads}")

    def _loss(self, output: Tensor, batch: Batch) -> Tensor:
        beyond = batch.beyond()
        target = (batch.worth / self.tau).masked_fill(beyond, -np.inf).softmax(dim=1)
        chance = output.masked_fill(beyond, -np.inf).log_softmax(dim=1)
        # 0 * -inf is nan, and so is its gradient.
        return -(target * chance.masked_fill(beyond, 0.0)).sum(dim=1).mean()
