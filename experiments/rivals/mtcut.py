"""MtCut: several tasks and a mixture of experts teach one network where to cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from paretocut.lists import FloatArray, IntArray
from paretocut.metrics import MetricLike
from paretocut.schema.kinds import Real, Whole
from paretocut.truncators import AttnCut, Training
from paretocut.truncators.neural.networks import BiLSTM, CutNetwork, Encoder, inside
from paretocut.truncators.neural.truncator import Batch, Normalization

__all__ = ["MtCut", "MtCutNetwork"]


class MtCut(AttnCut):
    """Cut by a mixture of experts that also learns which results are relevant, and their order.

    Parameters
    ----------
    metric
        Metric to maximise: a name, a `Metric` or a function; see `paretocut.metrics.get`.
    experts
        Number of transformers that all tasks share.
    relevance_weight, order_weight
        Weights of the two other tasks in the loss; the cut has weight 1.
    tau
        Temperature of the cut's target; see `AttnCut`.
    normalize, max_steps
        What the network sees; see `BiCut`.
    width, layers, heads, dropout
        The LSTM's units in each direction, its layers, attention heads of each expert (they
        must divide twice the width), and the share of units left out while training.
    training
        How the network is trained.

    Attributes
    ----------
    weights_, network_, center_, spread_, output_
        The network: tensors, sizes, scale of its inputs, and 0 for its only output.
    history_, epoch_
        Metric on the held-out lists after each epoch, and the epoch (from 0) that was kept.

    Notes
    -----
    A BiLSTM reads the list; each expert is a transformer layer over its output. Each of three
    tasks has a gate, a softmax over the experts, and a linear layer over their mixture. The cut
    is learned as in `AttnCut`. The relevance of each result is learned by its cross entropy, the
    order by a hinge on the mean difference between relevant and other results. The cut alone
    decides.

    What differs from the published code: lists may have any length, so a gate sees the mean of
    the LSTM's output over the list; a learned row stands for "keep nothing"; the loss of the order
    has a gradient, which the published one loses; and scores are the only input. Training takes
    about as many times as long as that of `AttnCut` as there are experts.

    References
    ----------
    D. Wang, J. Li, T. Zhu, H. Zhou, Q. Zhu, Y. Wen and H. Piao, "MtCut: A Multi-Task Framework
    for Ranked List Truncation", WSDM 2022. Gates: J. Ma et al., "Modeling Task Relationships in
    Multi-task Learning with Multi-gate Mixture-of-Experts", KDD 2018.
    """

    parameters: ClassVar = {
        **AttnCut.parameters,
        "experts": Whole(1),
        "relevance_weight": Real(0),
        "order_weight": Real(0),
    }

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        experts: int = 3,
        relevance_weight: float = 1.0,
        order_weight: float = 1.0,
        tau: float = 0.95,
        normalize: Normalization = "minmax",
        max_steps: int = 300,
        width: int = 128,
        layers: int = 2,
        heads: int = 4,
        dropout: float = 0.2,
        training: Training = Training(),
    ) -> None:
        super().__init__(
            metric,
            tau=tau,
            normalize=normalize,
            max_steps=max_steps,
            width=width,
            layers=layers,
            heads=heads,
            dropout=dropout,
            training=training,
        )
        self.experts = experts
        self.relevance_weight = relevance_weight
        self.order_weight = order_weight

    def _settings(self, inputs: int) -> dict[str, Any]:
        return {**super()._settings(inputs), "experts": self.experts}

    def _network(self, settings: Mapping[str, Any]) -> nn.Module:
        return MtCutNetwork(**settings)

    def _loss(self, output: Tensor, batch: Batch) -> Tensor:
        cut, relevance, order = output.unbind(dim=-1)
        # The row that stands for "nothing" is neither relevant nor in any order.
        other_tasks = self.relevance_weight * _relevance_loss(relevance[:, 1:], batch)
        other_tasks = other_tasks + self.order_weight * _order_loss(order[:, 1:], batch)
        return super()._loss(cut, batch) + other_tasks

    def _steps(self, output: FloatArray, lengths: IntArray) -> IntArray:
        return super()._steps(output[:, :, 0], lengths)


def _relevance_loss(logits: Tensor, batch: Batch) -> Tensor:
    """Return the mean cross entropy of the results' relevance, each list counting the same."""
    # -log(sigmoid(x)) is log(1 + exp(-x)); a step may hold several results of either kind.
    zero = logits.new_zeros(())
    lost = batch.relevant * zero.logaddexp(-logits) + batch.other * zero.logaddexp(logits)
    results = (batch.relevant + batch.other).sum(dim=1)
    return (lost.sum(dim=1) / results).mean()


def _order_loss(values: Tensor, batch: Batch) -> Tensor:
    """Return how far the relevant results are from standing 1 above the others, on average."""
    relevant, other = batch.relevant.sum(dim=1), batch.other.sum(dim=1)
    high = (values * batch.relevant).sum(dim=1) / relevant.clamp(min=1)
    low = (values * batch.other).sum(dim=1) / other.clamp(min=1)
    # A list of one kind has no order to learn.
    lost = (1 - (high - low)).clamp(min=0) * (relevant > 0) * (other > 0)
    return lost.mean()


class MtCutNetwork(CutNetwork):
    """BiLSTM, experts shared by three tasks, and for each task a gate and a linear layer.

    The last dimension of the output has a number for each task: cut, relevance, order.
    """

    TASKS = 3

    def __init__(
        self, *, inputs: int, width: int, layers: int, heads: int, dropout: float, experts: int
    ) -> None:
        super().__init__(inputs)
        self.lstm = BiLSTM(inputs, width, layers, dropout)
        self.experts = nn.ModuleList(Encoder(2 * width, heads, 1, dropout) for _ in range(experts))
        self.gates = nn.ModuleList(
            nn.Linear(2 * width, experts, dtype=torch.float32) for _ in range(self.TASKS)
        )
        self.decide = nn.ModuleList(
            nn.Linear(2 * width, 1, dtype=torch.float32) for _ in range(self.TASKS)
        )

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        values = self.lstm(self.with_start(values), lengths + 1)
        real = inside(lengths + 1, values.shape[1])[:, :, None]
        mean = (values * real).sum(dim=1) / (lengths + 1)[:, None]
        opinions = torch.stack([expert(values, lengths + 1) for expert in self.experts], dim=-1)
        outputs = []
        for gate, decide in zip(self.gates, self.decide, strict=True):
            share = gate(mean).softmax(dim=-1)[:, None, None, :]
            outputs.append(decide((opinions * share).sum(dim=-1)))
        return torch.cat(outputs, dim=-1)
