"""Base of the neural truncators: parameters, training, prediction and saved weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from paretocut import metrics
from paretocut.decisions.cuts import Evidence
from paretocut.errors import InvalidParameterError, require
from paretocut.lists import FloatArray, IntArray, Ragged, RankedLists
from paretocut.metrics import MetricLike
from paretocut.schema.files import register
from paretocut.schema.kinds import Array, Instance, Items, Kind, Made, Real, Text, Whole, checked
from paretocut.schema.parameters import check
from paretocut.truncators.base import METRIC, Truncator
from paretocut.truncators.evidence import Clause
from paretocut.truncators.threshold import NORMALIZATIONS, normalize_scores

if TYPE_CHECKING:
    from torch import Tensor, nn


Normalization = Literal["raw", "max", "minmax", "z"]

_MIN_BATCHES = 8  # of an epoch, however few the training lists
_NESTED = "training__"
_TRAINING = {
    "max_epochs": Whole(1),
    "patience": Whole(1),
    "learning_rate": Real(above=0),
    "batch_size": Whole(1),
    "held_out": Real(above=0, below=1),
    "seed": Whole(),
    "device": Text(),
}


@dataclass(frozen=True, repr=False)
class Training:
    """How a network is trained: `BiCut`, `Choppy` and `AttnCut` take it as ``training``.

    Parameters
    ----------
    max_epochs, patience
        Largest number of passes over the training lists, and of passes in a row without a better
        value on the held-out lists.
    learning_rate, batch_size
        Step size of Adam, and lists in each step; fewer where an epoch would have less than eight.
    held_out
        Share of the training lists that only check the network.
    seed, device
        The seed fixes the first weights, the order of the lists and which lists are held out. Only
        the device "cpu" gives the same weights each time.

    Examples
    --------
    >>> Training(max_epochs=50, patience=10)
    Training(max_epochs=50)
    """

    max_epochs: int = 30
    patience: int = 10
    learning_rate: float = 1e-3
    batch_size: int = 20
    held_out: float = 0.2
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name, kind in _TRAINING.items():
            value = check(kind, getattr(self, name), who="Training", name=name)
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        own = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        changed = [f"{name}={value!r}" for name, value, default in own if value != default]
        return f"Training({', '.join(changed)})"


register("training", Training, asdict, lambda content: Training(**content))


class NeuralTruncator(Truncator):
    """Base of the truncators that are neural networks: a network and a loss."""

    history_: list[float]

    parameters: ClassVar[Mapping[str, Kind]] = {
        "metric": METRIC,
        "normalize": Text(NORMALIZATIONS),
        "max_steps": Whole(2, 10**6),
        "width": Whole(1, 10**5),
        "layers": Whole(1, 100),
        "dropout": Real(0, below=1),
        "training": Instance(Training),
    }
    learns_slowly = True
    network: ClassVar[str]  # the class in `paretocut.truncators.neural.networks`
    sizes: ClassVar[tuple[str, ...]] = ("width", "layers", "heads", "dropout")  # its arguments

    def __init__(
        self,
        metric: MetricLike,
        normalize: Normalization,
        max_steps: int,
        width: int,
        layers: int,
        dropout: float,
        training: Training,
    ) -> None:
        self.metric = metric
        self.normalize = normalize
        self.max_steps = max_steps
        self.width = width
        self.layers = layers
        self.dropout = dropout
        self.training = training

    def _network(self, settings: Mapping[str, Any]) -> nn.Module:
        from paretocut.truncators.neural import networks

        network: nn.Module = getattr(networks, self.network)(**settings)
        return network

    @abstractmethod
    def _loss(self, output: Tensor, batch: Batch) -> Tensor:
        """Return the mean loss of a batch."""

    def _steps(self, output: FloatArray, lengths: IntArray) -> IntArray:
        """Return how many steps to keep: a row per list, a column per way to read the output."""
        beyond = np.arange(output.shape[1]) > lengths[:, None]
        return np.asarray(np.where(beyond, -np.inf, output).argmax(axis=1)[:, None])

    def _settings(self, inputs: int) -> dict[str, Any]:
        return {"inputs": inputs, **{name: getattr(self, name) for name in self.sizes}}

    def _columns(self, lists: RankedLists) -> FloatArray:
        return np.column_stack([normalize_scores(lists.merit, self.normalize).values])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        nested = asdict(self.training) if deep else {}
        return super().get_params(deep) | {_NESTED + name: nested[name] for name in nested}

    def set_params(self, **params: Any) -> Self:
        nested = [name for name in params if name.startswith(_NESTED)]
        changes = {name.removeprefix(_NESTED): params.pop(name) for name in nested}
        allowed = [field.name for field in fields(Training)]
        for name in changes:
            if name not in allowed:
                raise InvalidParameterError(
                    f"Training: parameters must be among {', '.join(allowed)}, got {name!r}"
                )
        super().set_params(**params)
        self.training = replace(self.training, **changes)
        return self

    def learn(self, lists: RankedLists) -> None:
        torch = self._torch()
        filled = lists.relevant.filled
        if not filled.any():
            raise InvalidParameterError(
                f"{type(self).__name__}: lists must hold at least one result to learn from, got 0"
            )
        lists = lists[filled]
        columns = self._columns(lists)
        spread = columns.std(axis=0)
        self.center_, self.spread_ = columns.mean(axis=0), np.where(spread > 0, spread, 1.0)
        self.network_ = self._settings(columns.shape[1] + 1)
        with _isolated(torch, self.training):
            self._train(torch, lists)

    def decide(self, lists: RankedLists) -> tuple[IntArray, Evidence]:
        why = Clause(f"the network {type(self).__name__}, {self.taught}")
        filled = np.flatnonzero(lists.scores.filled)
        cuts = np.zeros(len(lists), dtype=np.int64)
        if filled.size == 0:
            return cuts, why
        torch = self._torch()
        with torch.device("meta"):  # builds the network without drawing random weights for it
            network = self._network(self.network_)
        weights = {name: torch.from_numpy(array) for name, array in self.weights_.items()}
        network.load_state_dict(weights, assign=True)
        network.to(self.training.device)
        # One list at a time takes no longer than batches on a CPU, and no other list can then
        # touch the last digits of an output. An accelerator is many times faster in batches.
        size = 1 if self.training.device == "cpu" else self.training.batch_size
        cuts[filled] = self._read(torch, network, lists[filled], size)[:, self.output_]
        return cuts, why

    @property
    def state(self) -> dict[str, Kind]:
        return {
            "center_": Array(("columns",)),
            "spread_": Array(("columns",), above=0),
            "network_": _Sized(self._check_network),
            "weights_": _Sized(self._check_weights),
            "history_": Items(Real()),
            "epoch_": Whole(),
            "output_": Whole(high=0),
        }

    def _check_network(self, value: Mapping[str, Any], inputs: int) -> None:
        expected = self._settings(inputs)
        if dict(value) != expected:
            raise ValueError(f"the network has {expected}, as its parameters say")

    def _check_weights(self, value: Mapping[str, Any], inputs: int) -> None:
        torch = require("torch", feature=type(self).__name__, extra="neural")
        with torch.device("meta"):  # shapes without memory
            tensors = self._network(self._settings(inputs)).state_dict()
        checked({name: Array(tuple(tensor.shape)) for name, tensor in tensors.items()}, value)
        for name, array in value.items():
            if array.dtype != np.float32:
                raise ValueError(f"{name} is float32, not {array.dtype}")

    def _seen(self, lists: RankedLists) -> tuple[Ragged, Ragged, NDArray[np.float32]]:
        """Return the ranks where each list may be cut, its rows of features, and all features."""
        lengths = lists.scores.lengths.tolist()
        grid = {length: steps_of(length, self.max_steps) for length in set(lengths)}
        stops = Ragged.from_any([grid[length] for length in lengths])
        # Every stop but the first, which is rank 0, shows the last result before it.
        rank = stops.values[stops.values > 0]
        result = lists.scores.offsets[:-1][stops.rows[stops.values > 0]] + rank - 1
        # Optimisers want unit scale; values far from all training data only mean "far".
        known = ((self._columns(lists)[result] - self.center_) / self.spread_).clip(-10, 10)
        # The rank spares a recurrent network the counting; the divisor makes it about 1.
        features = np.column_stack([known, np.log(rank) / 5]).astype(np.float32)
        rows = Ragged(np.arange(len(features)), stops.offsets - np.arange(len(stops) + 1))
        return stops, rows, features

    def _batches(
        self, torch: Any, lists: RankedLists, size: int, rng: np.random.Generator
    ) -> Callable[[], Iterator[Batch]]:
        """Return a function that yields the batches of one epoch."""
        stops, rows, features = self._seen(lists)
        later = stops.values > 0
        span = np.diff(stops.values, prepend=0)[later]
        ends = lists.scores.offsets[:-1][stops.rows[later]] + stops.values[later]
        relevant = np.add.reduceat(lists.relevant.values.astype(np.float32), ends - span)
        curves = metrics.get(self.metric).curves(lists)
        worth = curves.values[curves.offsets[:-1][stops.rows] + stops.values].astype(np.float32)
        cuts = stops.with_values(np.arange(worth.size))

        def epoch() -> Iterator[Batch]:
            order = rng.permutation(len(rows))  # then by length, for little padding
            order = order[np.argsort(rows.lengths[order], kind="stable")]
            parts = np.split(order, range(size, len(order), size))
            for group in (parts[i] for i in rng.permutation(len(parts))):
                steps = rows.take(group)
                arrays = (
                    padded(steps, features),
                    steps.lengths,
                    padded(steps, relevant),
                    padded(steps, span.astype(np.float32) - relevant),
                    padded(cuts.take(group), worth),
                )
                device = self.training.device
                yield Batch(*(torch.from_numpy(array).to(device) for array in arrays))

        return epoch

    def _torch(self) -> Any:
        torch = require("torch", feature=type(self).__name__, extra="neural")
        try:
            torch.empty(0, device=self.training.device)
        except (RuntimeError, AssertionError, NotImplementedError) as error:
            message = f"device must be one that torch finds here, got {self.training.device!r}"
            raise InvalidParameterError(message, who=type(self).__name__) from error
        return torch

    def _train(self, torch: Any, lists: RankedLists) -> None:
        plan = self.training
        rng = np.random.default_rng(plan.seed)
        order = rng.permutation(len(lists))
        held = max(1, round(plan.held_out * len(lists)))
        checking = lists[order[:held]]
        curves = metrics.get(self.metric).curves(checking)
        # A lone list teaches and checks.
        train = lists[order[held:]] if held < len(lists) else lists
        network = self._network(self.network_).to(plan.device)
        optimizer = torch.optim.Adam(network.parameters(), lr=plan.learning_rate)
        batches = self._batches(
            torch, train, min(plan.batch_size, -(-len(train) // _MIN_BATCHES)), rng
        )
        self.history_, best = [], -np.inf
        for epoch in range(plan.max_epochs):
            network.train()
            for batch in batches():
                optimizer.zero_grad()
                loss: Any = self._loss(network(batch.features, batch.lengths), batch)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                optimizer.step()
            cuts = self._read(torch, network, checking, plan.batch_size)
            values = curves.values[curves.offsets[:-1, None] + cuts].mean(axis=0)
            value = float(values.max())
            self.history_.append(value)
            # Of equal epochs the later one counts: networks begin by keeping nothing.
            if value >= best:
                best, self.epoch_, self.output_ = value, epoch, int(values.argmax())
                self.weights_ = {
                    name: tensor.detach().cpu().numpy().copy()
                    for name, tensor in network.state_dict().items()
                }
            elif epoch - self.epoch_ >= plan.patience:
                break

    def _read(self, torch: Any, network: nn.Module, lists: RankedLists, size: int) -> IntArray:
        """Return the cuts of non-empty lists, a column for each way to read the output."""
        stops, rows, features = self._seen(lists)
        order = np.argsort(rows.lengths, kind="stable")
        device = self.training.device
        kept = []
        network.eval()
        with torch.inference_mode():
            for group in np.split(order, range(size, len(order), size)):
                steps = rows.take(group)
                values, lengths = padded(steps, features), torch.from_numpy(steps.lengths)
                output = network(torch.from_numpy(values).to(device), lengths.to(device))
                kept.append(self._steps(output.cpu().numpy().astype(np.float64), steps.lengths))
        chosen = np.concatenate(kept)[np.argsort(order)]
        return np.asarray(stops.values[stops.offsets[:-1, None] + chosen])


@dataclass(frozen=True)
class _Sized(Kind):
    """Values by name that fit the number of columns that the network sees."""

    fits: Callable[[Mapping[str, Any], int], None]

    def check(self, value: Any, sizes: dict[str, Any]) -> Any:
        Made(lambda given: self.fits(given, sizes["columns"] + 1)).check(value, sizes)
        return value


@contextmanager
def _isolated(torch: Any, training: Training) -> Iterator[None]:
    """Seed torch's generators and restore them; other settings of the process do not count."""
    where = torch.device(training.device)
    accelerators = [where.index or 0] if where.type == "cuda" else []
    with torch.random.fork_rng(devices=accelerators), torch.device("cpu"), torch.enable_grad():
        # torch.manual_seed would reseed every accelerator of the process as well.
        torch.default_generator.manual_seed(training.seed)
        for index in accelerators:
            torch.cuda.default_generators[index].manual_seed(training.seed)
        yield


@dataclass(frozen=True)
class Batch:
    """Judged lists, padded with zeros; a step is one result or, far down, a few of them."""

    features: Tensor  # of the network: (lists, steps, features)
    lengths: Tensor  # steps of each list: (lists,)
    relevant: Tensor  # relevant results in each step: (lists, steps)
    other: Tensor  # other results in each step: (lists, steps)
    worth: Tensor  # the metric after 0, 1, ... steps: (lists, steps + 1)

    def beyond(self) -> Tensor:
        """Return which entries of ``worth`` are padding."""
        count = self.lengths.new_tensor(range(self.worth.shape[1]))
        return count > self.lengths[:, None]


def steps_of(length: int, limit: int) -> IntArray:
    """Return the ranks at which a list may be cut, ever fewer after ``limit / 2``."""
    if length <= limit:
        return np.arange(length + 1)
    head = limit // 2
    tail = np.geomspace(head, length, limit - head + 1).round().astype(np.int64)
    return np.unique(np.concatenate([np.arange(head), tail]))


def padded(rows: Ragged, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the values at these rows, one line per list, filled up with zeros."""
    inside = np.arange(rows.lengths.max()) < rows.lengths[:, None]
    filled = np.zeros(inside.shape + values.shape[1:], dtype=np.float32)
    filled[inside] = values[rows.values]
    return filled
