"""Names and shapes of the tensors of each part of a network, without torch.

A saved network is checked against these before anything is built from it.
"""

from __future__ import annotations

from collections.abc import Iterator

Shapes = Iterator[tuple[str, tuple[int, ...]]]


def linear(name: str, inputs: int, outputs: int) -> Shapes:
    """Yield the tensors of a linear layer."""
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)


def bilstm(name: str, inputs: int, width: int, layers: int) -> Shapes:
    """Yield the tensors of `BiLSTM`."""
    for i in range(layers):
        below = 2 * width if i else inputs
        for way in ("ahead", "back"):
            yield f"{name}.{way}.{i}.weight_ih_l0", (4 * width, below)
            yield f"{name}.{way}.{i}.weight_hh_l0", (4 * width, width)
            yield f"{name}.{way}.{i}.bias_ih_l0", (4 * width,)
            yield f"{name}.{way}.{i}.bias_hh_l0", (4 * width,)


def encoder(name: str, width: int, layers: int) -> Shapes:
    """Yield the tensors of `Encoder`."""
    for i in range(layers):
        layer = f"{name}.layers.{i}"
        yield f"{layer}.self_attn.in_proj_weight", (3 * width, width)
        yield f"{layer}.self_attn.in_proj_bias", (3 * width,)
        yield from linear(f"{layer}.self_attn.out_proj", width, width)
        yield from linear(f"{layer}.linear1", width, 4 * width)
        yield from linear(f"{layer}.linear2", 4 * width, width)
        for norm in ("norm1", "norm2"):
            yield f"{layer}.{norm}.weight", (width,)
            yield f"{layer}.{norm}.bias", (width,)
