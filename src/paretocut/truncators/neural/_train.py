"""What the neural truncators share: what they see of a list, batches, training, weights."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from paretocut import metrics
from paretocut.decisions import Cuts
from paretocut.errors import InvalidParameterError
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.metrics import MetricLike
from paretocut.schema.extras import require
from paretocut.schema.kinds import Array, Items, Kind, Made, Real, Whole, checked
from paretocut.schema.parameters import (
    check_choice,
    check_int,
    check_positive_int,
    check_probability,
    check_real,
)
from paretocut.truncators.base import Truncator
from paretocut.truncators.threshold import NORMALIZATIONS, normalize_scores

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = ["Batch", "NeuralTruncator", "best_steps", "steps_of"]

# An epoch of few training lists still has this many steps of the optimiser.
_MIN_BATCHES = 8


@dataclass(frozen=True)
class Batch:
    """Judged lists, padded; a step is a result or, far down a long list, a few of them."""

    features: Tensor
    """What the network sees: (lists, steps, features)."""
    lengths: Tensor
    """Steps of each list: (lists,)."""
    relevant: Tensor
    """Relevant results in each step: (lists, steps), 0 in the padding."""
    other: Tensor
    """Other results in each step: (lists, steps), 0 in the padding."""
    worth: Tensor
    """The metric after 0, 1, ... steps: (lists, steps + 1), 0 in the padding."""

    def beyond(self) -> Tensor:
        """Return which entries of ``worth`` are padding."""
        count = self.lengths.new_tensor(range(self.worth.shape[1]))
        return count > self.lengths[:, None]


class NeuralTruncator(Truncator):
    """Base of the truncators that are neural networks.

    A subclass says how its network is built, what its loss is and which cuts its output means.
    """

    weights_: dict[str, NDArray[Any]]
    network_: dict[str, Any]
    center_: FloatArray
    spread_: FloatArray
    history_: list[float]
    epoch_: int
    output_: int

    _tensor_names = ("weights_",)

    def __init__(
        self,
        *,
        metric: MetricLike,
        normalize: Literal["raw", "max", "minmax", "z"],
        max_steps: int,
        width: int,
        layers: int,
        dropout: float,
        learning_rate: float,
        batch_size: int,
        max_epochs: int,
        patience: int,
        held_out: float,
        seed: int,
        device: str,
        progress: bool,
    ) -> None:
        self.metric = metric
        self.normalize = normalize
        self.max_steps = max_steps
        self.width = width
        self.layers = layers
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.held_out = held_out
        self.seed = seed
        self.device = device
        self.progress = progress

    # What subclasses write or change.

    def _prepare(self, lists: RankedLists) -> None:
        """Note what the loss needs of the training lists."""

    @abstractmethod
    def _loss(self, output: Tensor, batch: Batch) -> Tensor:
        """Return the mean loss of a batch's lists."""

    @abstractmethod
    def _steps(self, output: FloatArray, lengths: IntArray) -> IntArray:
        """Return how many steps to keep: a row per list, a column per way to read the output."""

    @abstractmethod
    def _own_settings(self) -> dict[str, int]:
        """Return the network's arguments that only this network has."""

    @abstractmethod
    def _shapes(self, inputs: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield name and shape of each tensor of the network, one after the other."""

    def _outputs(self) -> int:
        """Return in how many ways the output can be read."""
        return 1

    def _encodings(self, lists: RankedLists) -> NDArray[Any] | None:
        """Return more columns for each result, where the truncator looks at any."""
        return None

    # The contract of Truncator.

    def _validate(self) -> None:
        who = type(self).__name__
        metrics.get(self.metric)
        check_choice(self.normalize, NORMALIZATIONS, who=who, name="normalize")
        check_int(self.max_steps, who=who, name="max_steps", low=2)
        for name in ("width", "layers", "batch_size", "max_epochs", "patience"):
            check_positive_int(getattr(self, name), who=who, name=name)
        check_real(self.dropout, who=who, name="dropout", low=0, high=1, closed="low")
        check_real(self.learning_rate, who=who, name="learning_rate", low=0)
        check_probability(self.held_out, who=who, name="held_out")
        check_int(self.seed, who=who, name="seed")
        if not isinstance(self.device, str):
            raise InvalidParameterError(
                f"{who}: device must be a name such as 'cpu' or 'cuda', got {self.device!r}"
            )

    def _fit(self, lists: RankedLists) -> None:
        torch = self._torch()
        filled = lists.relevant.lengths > 0
        if not filled.any():
            raise InvalidParameterError(
                f"{type(self).__name__}: lists must hold at least one result to learn from, got 0"
            )
        lists = lists[filled]
        columns = self._columns(lists)
        spread = columns.std(axis=0)
        self.center_, self.spread_ = columns.mean(axis=0), np.where(spread > 0, spread, 1.0)
        self._prepare(lists)
        self.network_ = self._settings(columns.shape[1] + 1)
        with _isolated(torch, self.device, self.seed):
            self._train(torch, lists)

    def _settings(self, inputs: int) -> dict[str, Any]:
        """Return the arguments of the network."""
        sizes = {"inputs": inputs, "width": self.width, "layers": self.layers}
        return {**sizes, "dropout": self.dropout, **self._own_settings()}

    def _state(self, given: Mapping[str, Any]) -> dict[str, Kind]:
        return {
            "center_": Array(("columns",)),
            "spread_": Array(("columns",), above=0),
            "network_": Made(lambda value: self._check_network(value, given), keep=True),
            "weights_": Made(lambda value: self._check_weights(value, given), keep=True),
            "history_": Items(Real()),
            "epoch_": Whole(),
            "output_": Whole(high=self._outputs() - 1),
        }

    def _check_network(self, value: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        expected = self._settings(np.size(given.get("center_", ())) + 1)
        if dict(value) != expected:
            raise ValueError(f"the network has {expected}, as its parameters say")

    def _check_weights(self, value: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        found = 0
        for name, shape in self._shapes(np.size(given.get("center_", ())) + 1):
            # A file may promise any number of layers; the first that is missing ends the check.
            if name not in value:
                raise ValueError(f"there is a tensor {name}")
            checked({name: Array(shape)}, {name: value[name]})
            if value[name].dtype != np.float32:
                raise ValueError(f"{name} is float32, not {value[name].dtype}")
            found += 1
        if found != len(value):
            raise ValueError(f"there are {found} tensors, not {len(value)}")

    def _predict(self, lists: RankedLists) -> IntArray:
        filled = np.flatnonzero(lists.scores.lengths > 0)
        cuts = np.zeros(len(lists), dtype=np.int64)
        if filled.size == 0:
            return cuts
        torch = self._torch()
        with torch.device("meta"):  # builds the network without drawing random weights for it
            network = self._network()
        weights = {name: torch.from_numpy(array) for name, array in self.weights_.items()}
        network.load_state_dict(weights, assign=True)
        network.to(self.device)
        # One list at a time takes no longer than batches on a CPU, and no other list can then
        # touch the last digits of an output, and with them the cut. An accelerator, which promises
        # no digits, is many times faster in batches.
        size = 1 if self.device == "cpu" else self.batch_size
        cuts[filled] = self._read(torch, network, lists[filled], size=size)[:, self.output_]
        return cuts

    def _because(self, cuts: Cuts) -> list[str]:
        return [f"the network {type(self).__name__}, {self._taught()}"] * len(cuts)

    def _tensors(self) -> dict[str, NDArray[Any]]:
        weights = getattr(self, "weights_", {})
        return {f"weights_.{name}": array for name, array in weights.items()}

    def _from_tensors(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        weights = {key.removeprefix("weights_."): value for key, value in arrays.items()}
        return {"weights_": weights} if weights else {}

    # What the network sees.

    def _columns(self, lists: RankedLists) -> FloatArray:
        """Return the normalised score of each result, and its encoding where that is used."""
        scores = normalize_scores(lists.merit, self.normalize).values
        encodings = self._encodings(lists)
        return np.column_stack([scores] if encodings is None else [scores, encodings])

    def _features(self, lists: RankedLists, stops: Ragged) -> NDArray[np.float32]:
        """Return a row for each step of each list: its last result's columns, and its rank."""
        rank = stops.values[stops.values > 0]
        result = lists.scores.offsets[:-1][stops.rows[stops.values > 0]] + rank - 1
        # Optimisers want unit scale; what is far from all training data says no more than "far".
        known = ((self._columns(lists)[result] - self.center_) / self.spread_).clip(-10, 10)
        # The rank spares a recurrent network the counting; the divisor makes it about 1.
        return np.column_stack([known, np.log(rank) / 5]).astype(np.float32)

    def _stops(self, lists: RankedLists) -> Ragged:
        """Return the ranks at which each list may be cut."""
        lengths = lists.scores.lengths.tolist()
        grid = {length: steps_of(length, self.max_steps) for length in set(lengths)}
        return Ragged.from_any([grid[length] for length in lengths])

    # Training.

    def _torch(self) -> Any:
        torch = require("torch", feature=type(self).__name__, extra="neural")
        try:
            torch.empty(0, device=self.device)
        except (RuntimeError, AssertionError, NotImplementedError) as error:
            raise InvalidParameterError(
                f"{type(self).__name__}: device must be one that torch finds here, "
                f"got {self.device!r}"
            ) from error
        return torch

    def _network(self) -> nn.Module:
        from paretocut.truncators.neural import _networks

        network: nn.Module = getattr(_networks, f"{type(self).__name__}Network")(**self.network_)
        return network

    def _batches(
        self, torch: Any, lists: RankedLists, size: int, rng: np.random.Generator
    ) -> Iterator[Iterator[Batch]]:
        """Return the batches of one epoch after the other, without end."""
        stops = self._stops(lists)
        features = self._features(lists, stops)
        later = stops.values > 0
        span = np.diff(stops.values, prepend=0)[later]
        ends = lists.scores.offsets[:-1][stops.rows[later]] + stops.values[later]
        relevant = np.add.reduceat(lists.relevant.values.astype(np.float32), ends - span)
        curves = metrics.get(self.metric).curves(lists)
        worth = curves.values[curves.offsets[:-1][stops.rows] + stops.values].astype(np.float32)
        rows = Ragged(np.arange(len(features)), stops.offsets - np.arange(len(stops) + 1))

        def batches() -> Iterator[Batch]:
            for group in _groups(rows.lengths, size, rng):
                steps = rows.take(group)
                cuts = Ragged(np.arange(worth.size), stops.offsets).take(group)
                arrays = (
                    _padded(steps, features),
                    steps.lengths,
                    _padded(steps, relevant),
                    _padded(steps, span.astype(np.float32) - relevant),
                    _padded(cuts, worth),
                )
                yield Batch(*(torch.from_numpy(array).to(self.device) for array in arrays))

        while True:
            yield batches()

    def _train(self, torch: Any, lists: RankedLists) -> None:
        rng = np.random.default_rng(self.seed)
        order = rng.permutation(len(lists))
        held = max(1, round(self.held_out * len(lists)))
        checked = lists[order[:held]]
        curves = metrics.get(self.metric).curves(checked)
        # A lone list teaches and checks.
        train = lists[order[held:]] if held < len(lists) else lists
        network = self._network().to(self.device)
        optimizer = torch.optim.Adam(network.parameters(), lr=self.learning_rate)

        self.history_, best = [], -np.inf
        size = min(self.batch_size, -(-len(train) // _MIN_BATCHES))
        epochs = self._batches(torch, train, size, rng)
        for epoch, batches in zip(self._epochs(), epochs, strict=False):
            network.train()
            for batch in batches:
                optimizer.zero_grad()
                loss: Any = self._loss(network(batch.features, batch.lengths), batch)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                optimizer.step()
            cuts = self._read(torch, network, checked, size=self.batch_size)
            values = curves.values[curves.offsets[:-1, None] + cuts].mean(axis=0)
            value = float(values.max())
            self.history_.append(value)
            # Of equal epochs the later one counts: it has learned for longer, and with a metric
            # that punishes, all networks begin by keeping nothing.
            if value >= best:
                best, self.epoch_, self.output_ = value, epoch, int(values.argmax())
                self.weights_ = {
                    name: tensor.detach().cpu().numpy().copy()
                    for name, tensor in network.state_dict().items()
                }
            elif epoch - self.epoch_ >= self.patience:
                break

    def _epochs(self) -> Iterable[int]:
        epochs = range(self.max_epochs)
        if not (self.progress and sys.stderr.isatty() and find_spec("tqdm")):
            return epochs
        from tqdm import tqdm

        bar: Iterable[int] = tqdm(epochs, desc=type(self).__name__, unit="epoch")
        return bar

    def _read(self, torch: Any, network: nn.Module, lists: RankedLists, *, size: int) -> IntArray:
        """Return the cuts of non-empty lists, a column for each way to read the output."""
        stops = self._stops(lists)
        features = self._features(lists, stops)
        rows = Ragged(np.arange(len(features)), stops.offsets - np.arange(len(stops) + 1))
        order = np.argsort(rows.lengths, kind="stable")
        kept = []
        network.eval()
        with torch.inference_mode():
            for group in np.split(order, range(size, len(order), size)):
                steps = rows.take(group)
                values, lengths = _padded(steps, features), torch.from_numpy(steps.lengths)
                output = network(torch.from_numpy(values).to(self.device), lengths.to(self.device))
                kept.append(self._steps(output.cpu().numpy().astype(np.float64), steps.lengths))
        cuts: IntArray = stops.values[
            stops.offsets[:-1, None] + np.concatenate(kept)[np.argsort(order)]
        ]
        return cuts


def steps_of(length: int, limit: int) -> IntArray:
    """Return the ranks ``0 < ... < length`` at which a list may be cut, ``limit`` after the 0.

    All of them in a list of up to ``limit`` results. In a longer one, all in the first half of
    the limit, then ranks at a constant ratio: far down, one result more or less is nothing.
    """
    if length <= limit:
        return np.arange(length + 1)
    head = limit // 2
    tail = np.geomspace(head, length, limit - head + 1).round().astype(np.int64)
    return np.unique(np.concatenate([np.arange(head), tail]))


def best_steps(output: FloatArray, lengths: IntArray) -> IntArray:
    """Return, in one column, the first best of the numbers that each list has for its cuts."""
    beyond = np.arange(output.shape[1]) > lengths[:, None]
    best: IntArray = np.where(beyond, -np.inf, output).argmax(axis=1)[:, None]
    return best


def _padded(rows: Ragged, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the values at these rows, one line per list, filled up with zeros."""
    inside = np.arange(rows.lengths.max()) < rows.lengths[:, None]
    padded = np.zeros(inside.shape + values.shape[1:], dtype=np.float32)
    padded[inside] = values[rows.values]
    return padded


def _groups(lengths: IntArray, size: int, rng: np.random.Generator) -> list[IntArray]:
    """Return positions of lists in random batches of about equal lengths: little padding."""
    order = rng.permutation(len(lengths))
    order = order[np.argsort(lengths[order], kind="stable")]
    groups = np.split(order, range(size, len(order), size))
    return [groups[i] for i in rng.permutation(len(groups))]


@contextmanager
def _isolated(torch: Any, device: str, seed: int) -> Iterator[None]:
    """Seed torch's generators and put them back; other settings of the process do not count."""
    where = torch.device(device)
    accelerators = [where.index or 0] if where.type == "cuda" else []
    with (
        torch.random.fork_rng(devices=accelerators),
        torch.device("cpu"),
        torch.enable_grad(),
    ):
        # torch.manual_seed would reseed every accelerator of the process as well.
        torch.default_generator.manual_seed(seed)
        for index in accelerators:
            torch.cuda.default_generators[index].manual_seed(seed)
        yield
