"""Train the Omniglot encoder and write half-precision embeddings of all images.

A ResNet-50 (He et al., 2015) on 105 x 105 drawings, trained as a siamese network: contrastive
loss with margin 1 on Euclidean distances, Adam with learning rate 0.001, no augmentation. Needs
torch and numpy only, so that it runs on a bare GPU machine; a CPU does for a reduced size::

    python omniglot_train.py --data FOLDER --out FOLDER [--epochs 60] [--max-seconds 420]

Of each character's 20 drawings, 16 drawn at random train and 4 test. Written are
``omniglot_epochNNN.npz`` at the given epochs and at the end (embeddings in float16, and which
drawings trained) and ``omniglot.json``: seed, loss curve, versions, hashes of the data, and the
best F1 that any cut could reach on test and on training queries at each of those epochs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

FILES = ("images_background.npz", "images_evaluation.npz")
TRAIN_DRAWINGS = 16
INDEX_COUNTS = (4, 7, 10, 13, 16)
DEPTH = 200


class Bottleneck(nn.Module):
    """The block of ResNet-50: 1x1, 3x3 and 1x1 convolutions around a shortcut."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        out = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(channels, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, out, 1, bias=False),
            nn.BatchNorm2d(out),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels != out:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output."""
        return nn.functional.relu(self.body(x) + self.shortcut(x))


def resnet50(dimensions: int) -> nn.Sequential:
    """Return a ResNet-50 for images of one channel, with a linear layer of this many outputs."""
    layers: list[nn.Module] = [
        nn.Conv2d(1, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    channels = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 * 2**stage
        for block in range(blocks):
            layers.append(Bottleneck(channels, width, 2 if stage and block == 0 else 1))
            channels = 4 * width
    last = nn.Linear(channels, dimensions)
    with torch.no_grad():
        # Distances then start near the margin; beyond it the loss would only pull together.
        last.weight /= dimensions**0.5
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), last)
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return model


def contrastive_loss(left: Tensor, right: Tensor, same: Tensor, margin: float = 1.0) -> Tensor:
    """Return the mean of d^2 over pairs that belong together and max(0, margin - d)^2 else."""
    distance = ((left - right).square().sum(1) + 1e-12).sqrt()
    apart = (margin - distance).clamp(min=0).square()
    return torch.where(same, distance.square(), apart).mean()


def split_drawings(characters: int, drawings: int, seed: int) -> NDArray[np.bool_]:
    """Return which drawings of each character train: 16 of 20, at random."""
    generator = np.random.default_rng(seed)
    ranks = generator.random((characters, drawings)).argsort(axis=1)
    chosen: NDArray[np.bool_] = ranks < TRAIN_DRAWINGS
    return chosen


def choose_index(train: NDArray[np.bool_], seed: int) -> NDArray[np.bool_]:
    """Return which training drawings are indexed: 4, 7, 10, 13 or 16 per fifth of characters."""
    generator = np.random.default_rng(seed)
    characters = len(train)
    counts = np.empty(characters, dtype=np.int64)
    for count, fifth in zip(
        INDEX_COUNTS, np.array_split(generator.permutation(characters), 5), strict=True
    ):
        counts[fifth] = count
    # Test drawings come last in every row, so that the first `count` are all from training.
    ranks = (generator.random(train.shape) + ~train).argsort(axis=1).argsort(axis=1)
    chosen: NDArray[np.bool_] = ranks < counts[:, None]
    return chosen


def batches(
    train: NDArray[np.bool_], size: int, generator: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield anchors and partners of the same character; every training drawing anchors once."""
    drawings = train.shape[1]
    members = np.stack([np.flatnonzero(row) for row in train])
    characters, places = np.indices(members.shape)
    order = generator.permutation(members.size)
    for start in range(0, members.size - size + 1, size):
        chosen = order[start : start + size]
        row, place = characters.ravel()[chosen], places.ravel()[chosen]
        # A step of 1..15 around the circle of its character's drawings: never the drawing itself.
        other = (place + generator.integers(1, members.shape[1], size=size)) % members.shape[1]
        yield row * drawings + members[row, place], row * drawings + members[row, other]


class Data:
    """All drawings on the device, as one byte per pixel, ink = 1."""

    def __init__(self, folder: Path, characters: int | None, size: int, device: torch.device):
        parts, digest = [], hashlib.sha256()
        for name in FILES:
            digest.update((folder / name).read_bytes())
            with np.load(folder / name) as archive:
                parts.append(archive["images"])
        images = np.concatenate(parts)[:characters]
        self.sha256 = digest.hexdigest()
        self.shape = images.shape[:2]
        self.size = size
        flat = ~images.reshape(-1, *images.shape[2:])
        self.pixels = torch.from_numpy(flat.astype(np.uint8)).to(device)

    def batch(self, rows: Tensor) -> Tensor:
        """Return these images as (n, 1, size, size) floats."""
        images = self.pixels[rows].unsqueeze(1).float()
        if self.size != images.shape[-1]:
            images = nn.functional.adaptive_avg_pool2d(images, self.size)
        return images.contiguous(memory_format=torch.channels_last)


@torch.no_grad()
def embed(model: nn.Module, data: Data, device: torch.device) -> Tensor:
    """Return the embeddings of all images in half precision: characters x drawings x numbers."""
    model.eval()
    rows = torch.arange(len(data.pixels), device=device)
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        parts = [model[:-1](data.batch(part)).float() for part in rows.split(1024)]
    # The last layer in full precision: bfloat16 outputs would make ties among distances.
    out = torch.cat([model[-1](part) for part in parts])
    model.train()
    return out.half().reshape(*data.shape, -1)


def oracle_f1(
    embeddings: Tensor, queries: NDArray[np.bool_], index: NDArray[np.bool_], limit: int = 4000
) -> float:
    """Return the mean over queries of the best F1 any cut of the 200 nearest could reach."""
    device = embeddings.device
    flat = embeddings.float().flatten(0, 1)
    drawings = index.shape[1]
    indexed = torch.from_numpy(np.flatnonzero(index)).to(device)
    chosen = np.flatnonzero(queries)
    chosen = chosen[:: max(1, len(chosen) // limit)]
    depth = min(DEPTH, len(indexed) - 1)
    ranks = torch.arange(1, depth + 1, device=device)
    totals = torch.from_numpy(index.sum(1)).to(device)
    values = []
    for part in torch.from_numpy(chosen).to(device).split(512):
        distances = torch.cdist(flat[part], flat[indexed])
        own = part[:, None] == indexed[None, :]
        found = indexed[distances.masked_fill(own, torch.inf).topk(depth, largest=False).indices]
        hits = (found // drawings == (part // drawings)[:, None]).cumsum(1)
        relevant = totals[part // drawings] - own.any(1).long()
        f1 = 2 * hits / (ranks + relevant[:, None])
        values.append(f1.max(1).values)
    return float(torch.cat(values).mean())


def say(line: str) -> None:
    """Show a line of progress at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def train(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the provenance of the run, after training and writing the embeddings."""
    start = time.monotonic()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(arguments.seed)
    torch.backends.cudnn.benchmark = True
    generator = np.random.default_rng(arguments.seed)
    data = Data(arguments.data, arguments.characters, arguments.size, device)
    chosen = split_drawings(*data.shape, seed=arguments.seed)
    index = choose_index(chosen, seed=0)
    model = resnet50(arguments.dimensions).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    batch = min(arguments.batch, int(chosen.sum()))
    arguments.out.mkdir(parents=True, exist_ok=True)
    record: dict[str, Any] = {
        "encoder": f"ResNet-50, one input channel, linear layer of {arguments.dimensions} outputs",
        "loss": "contrastive, margin 1, Euclidean; each anchor with one partner of its character "
        "and one of another",
        "optimizer": "Adam, learning rate 0.001",
        "batch": f"{batch} anchors, {2 * batch} images",
        "image_size": arguments.size,
        "seed": arguments.seed,
        "data_sha256": data.sha256,
        "images": int(np.prod(data.shape)),
        "precision": "bfloat16 autocast" if device.type == "cuda" else "float32",
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "CPU",
        "epochs": [],
        "checkpoints": [],
    }
    for epoch in range(1, arguments.epochs + 1):
        losses = []
        for anchors, partners in batches(chosen, batch, generator):
            rows = torch.from_numpy(np.concatenate([anchors, partners])).to(device)
            characters = rows[:batch] // data.shape[1]
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                out = model(data.batch(rows))
            left, right = out.float().split(batch)
            # The neighbour's partner is another character, but for rare draws that are the same.
            same = torch.cat([characters == characters, characters == characters.roll(1)])
            loss = contrastive_loss(
                left.repeat(2, 1), torch.cat([right, right.roll(1, dims=0)]), same
            )
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        seconds = time.monotonic() - start
        mean = float(torch.stack(losses).mean())
        record["epochs"].append({"epoch": epoch, "loss": mean, "seconds": round(seconds, 1)})
        say(f"epoch {epoch}: loss {mean:.4f}, {seconds:.0f} s")
        if not np.isfinite(mean):
            raise SystemExit(f"omniglot_train: the loss must stay finite, got {mean}")
        # Stop while there is time for one more epoch's worth of writing.
        last = epoch == arguments.epochs or seconds * (1 + 1 / epoch) > arguments.max_seconds
        if epoch in arguments.checkpoints or last:
            embeddings = embed(model, data, device)
            name = f"omniglot_epoch{epoch:03d}.npz"
            np.savez_compressed(
                arguments.out / name, embeddings=embeddings.cpu().numpy(), train=chosen
            )
            summary = {
                "epoch": epoch,
                "file": name,
                "sha256": hashlib.sha256((arguments.out / name).read_bytes()).hexdigest(),
                "oracle_f1_test": oracle_f1(embeddings, ~chosen, index),
                "oracle_f1_train": oracle_f1(embeddings, chosen, index),
            }
            record["checkpoints"].append(summary)
            record["seconds"] = round(time.monotonic() - start, 1)
            say(json.dumps(summary))
            text = json.dumps(record, indent=1) + "\n"
            (arguments.out / "omniglot.json").write_text(text, encoding="utf-8")
        if last:
            break
    return record


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    out = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    out.add_argument("--data", type=Path, required=True, help=f"folder with {' and '.join(FILES)}")
    out.add_argument("--out", type=Path, required=True, help="folder for what is written")
    out.add_argument("--epochs", type=int, default=60)
    out.add_argument("--max-seconds", type=float, default=420.0, help="stop early, with results")
    out.add_argument("--checkpoints", type=int, nargs="*", default=[2, 5, 10, 20, 40])
    out.add_argument("--seed", type=int, default=0)
    out.add_argument("--batch", type=int, default=128, help="anchors per step")
    out.add_argument("--dimensions", type=int, default=64)
    out.add_argument("--characters", type=int, default=None, help="only the first ones, for tests")
    out.add_argument("--size", type=int, default=105, help="side of the images in pixels")
    return out


if __name__ == "__main__":
    train(parser().parse_args(sys.argv[1:]))
