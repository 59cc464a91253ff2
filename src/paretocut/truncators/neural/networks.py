"""The networks, from padded batches of lists to one row per list; imports torch at its top."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

_FLOAT = torch.float32  # whatever torch's default is


def inside(lengths: Tensor, width: int) -> Tensor:
    """Return which positions of a padded batch belong to a list."""
    return torch.arange(width, device=lengths.device) < lengths[:, None]


class BiLSTM(nn.Module):
    """Stacked bidirectional LSTM over padded lists, ``2 * width`` outputs per position."""

    # The backward LSTM reads every list reversed within its own length. The result is that of
    # packed sequences, at a seventh of their time on a CPU.

    def __init__(self, inputs: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        sizes = [inputs] + [2 * width] * (layers - 1)
        self.ahead, self.back = (
            nn.ModuleList(nn.LSTM(size, width, batch_first=True, dtype=_FLOAT) for size in sizes)
            for _ in range(2)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        count, width = values.shape[:2]
        rank = torch.arange(width, device=values.device).expand(count, width)
        reverse = torch.where(inside(lengths, width), lengths[:, None] - 1 - rank, rank)
        row = torch.arange(count, device=values.device)[:, None]
        for i, (ahead, back) in enumerate(zip(self.ahead, self.back, strict=True)):
            if i:
                values = self.dropout(values)
            backward = back(values[row, reverse])[0][row, reverse]
            values = torch.cat([ahead(values)[0], backward], dim=-1)
        return values


class Encoder(nn.Module):
    """Transformer encoder over padded lists."""

    def __init__(self, width: int, heads: int, layers: int, dropout: float) -> None:
        super().__init__()
        shape: dict[str, Any] = {"batch_first": True, "dtype": _FLOAT}
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 4 * width, dropout, **shape)
            for _ in range(layers)
        )
        layer: Any
        for layer in self.layers:
            # With dropout on the attention weights torch would write them all out: n * n numbers
            # per head and list. Without it the fused kernel does not.
            layer.self_attn.dropout = 0.0

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        padding = ~inside(lengths, values.shape[1])
        for layer in self.layers:
            values = layer(values, src_key_padding_mask=padding)
        return values


class CutNetwork(nn.Module):
    """Base of the networks that give one number to each cut; a learned row stands for 0."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.zeros(inputs, dtype=_FLOAT))

    def with_start(self, values: Tensor) -> Tensor:
        return torch.cat([self.start.expand(len(values), 1, -1), values], dim=1)


class BiCutNetwork(nn.Module):
    """A decision at each result; one output per candidate weight of the loss."""

    def __init__(
        self, *, inputs: int, width: int, layers: int, dropout: float, outputs: int
    ) -> None:
        super().__init__()
        self.lstm = BiLSTM(inputs, width, layers, dropout)
        self.decide = nn.Sequential(
            nn.Linear(2 * width, 2 * width, dtype=_FLOAT),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(2 * width, outputs, dtype=_FLOAT),
        )

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        return self.decide(self.lstm(values, lengths))  # type: ignore[no-any-return]


class ChoppyNetwork(CutNetwork):
    """Transformer over the results, a learned vector for each rank beside the features."""

    def __init__(
        self, *, inputs: int, width: int, layers: int, heads: int, dropout: float, max_steps: int
    ) -> None:
        super().__init__(inputs)
        self.position = nn.Embedding(max_steps + 1, width - inputs, dtype=_FLOAT)
        # At torch's size of 1 the ranks would drown the few features, and all lists get one cut.
        nn.init.normal_(self.position.weight, std=0.02)
        self.encoder = Encoder(width, heads, layers, dropout)
        self.decide = nn.Linear(width, 1, dtype=_FLOAT)

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        values = self.with_start(values)
        # Ranks beyond any training list share the last vector.
        rank = torch.arange(values.shape[1], device=values.device)
        vectors = self.position(rank.clamp(max=self.position.num_embeddings - 1))
        values = torch.cat([values, vectors.expand(len(values), -1, -1)], dim=-1)
        return self.decide(self.encoder(values, lengths + 1)).squeeze(-1)  # type: ignore[no-any-return]


class AttnCutNetwork(CutNetwork):
    """BiLSTM, then attention of every result to every other."""

    def __init__(self, *, inputs: int, width: int, layers: int, heads: int, dropout: float) -> None:
        super().__init__(inputs)
        self.lstm = BiLSTM(inputs, width, layers, dropout)
        self.encoder = Encoder(2 * width, heads, 1, dropout)
        self.decide = nn.Linear(2 * width, 1, dtype=_FLOAT)

    def forward(self, values: Tensor, lengths: Tensor) -> Tensor:
        values = self.lstm(self.with_start(values), lengths + 1)
        return self.decide(self.encoder(values, lengths + 1)).squeeze(-1)  # type: ignore[no-any-return]
