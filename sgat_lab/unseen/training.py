"""Training of a peer: full batches, the best epoch by validation, early stopping.

An epoch decides everything on the device, so that a GPU can replay it as a CUDA graph;
only every `CHECK` epochs the host asks whether to stop.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from sgat.data.node_data import NodeData
from sgat_lab.unseen.layers import PeerEdges
from sgat_lab.unseen.peers import Peer, PeerSetting
from sgat_lab.unseen.scaling import ScaledFeatures
from sgat_lab.unseen.scores import Metric, ScoredNodes

EPOCHS, PATIENCE, CHECK = 300, 100, 20
WARM_UP = 2
"""Epochs before one is captured."""


@contextlib.contextmanager
def tensor_cores(device: torch.device) -> Iterator[None]:
    """Matrix products of a GPU in TF32, with 10 bits of each number, and back again.

    All peers have them; sums over edges stay in float32.
    """
    before = torch.get_float32_matmul_precision()
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def hide_test(data: NodeData) -> NodeData:
    """The same data, with the classes of training and validation nodes alone."""
    known = data.train | data.val
    return dataclasses.replace(data, y=torch.where(known, data.y, -1))


class PeerData(NamedTuple):
    """What a peer is trained on, on one device.

    Attributes:
        features: Features in every scaling.
        edges: The edges.
        train: Training nodes.
        val: Validation nodes.
        num_classes: Number of classes.
        metric: Score that chooses an epoch, and a setting.
    """

    features: ScaledFeatures
    edges: PeerEdges
    train: ScoredNodes
    val: ScoredNodes
    num_classes: int
    metric: Metric

    @classmethod
    def of(
        cls, data: NodeData, features: ScaledFeatures, metric: Metric, device: Any
    ) -> PeerData:
        """The data without the classes of test nodes."""
        seen = hide_test(data)
        return cls(
            features,
            PeerEdges.of(seen.graph, device),
            ScoredNodes.of(seen.train, seen.y).to(device),
            ScoredNodes.of(seen.val, seen.y).to(device),
            seen.num_classes,
            metric,
        )


class PeerTraining:
    """A training that can be continued.

    Sets torch's global seed, which the layers of PyG draw from. The same seed gives the
    same result on a CPU; on a GPU some gradients of attention have no fixed order.

    Args:
        setting: What to train.
        data: What to train it on.
        seed: Of weights and dropout.
        patience: Epochs without a better validation score after which it ends.
        capture: Whether a GPU replays an epoch as a CUDA graph.
        keep_weights: Whether the weights of the best epoch are kept, too.
    """

    def __init__(
        self,
        setting: PeerSetting,
        data: PeerData,
        *,
        seed: int,
        patience: int = PATIENCE,
        capture: bool = True,
        keep_weights: bool = False,
    ) -> None:
        self.setting, self.data, self.seed = setting, data, seed
        self.patience, self.epochs, self.has_ended = patience, 0, False
        self.x = data.features.scaled(setting.scaling)
        device = self.x.device
        torch.manual_seed(seed)
        self.model = Peer(setting, self.x.shape[1], data.num_classes).to(device)
        self.capture = capture and device.type == "cuda"
        options: dict[str, Any] = {"lr": setting.lr, "fused": True}
        if device.type == "cuda":
            options["capturable"] = True
        self.optimiser = torch.optim.Adam(
            self.model.parameters(), weight_decay=setting.weight_decay, **options
        )
        number: dict[str, Any] = {"dtype": torch.float64, "device": device}
        self._val = torch.full((), -torch.inf, **number)
        self._loss = torch.full((), torch.inf, **number)
        self._since = torch.zeros((), dtype=torch.long, device=device)
        self.logits = torch.zeros(len(self.x), data.num_classes, device=device)
        self._best = (
            {name: part.clone() for name, part in self.model.state_dict().items()}
            if keep_weights
            else {}
        )

    @property
    def quality(self) -> tuple[float, float]:
        """Validation score of the best epoch, and its loss times -1: more is better."""
        return float(self._val), -float(self._loss)

    def run(self, until: int = EPOCHS) -> PeerTraining:
        """Train up to this number of epochs, unless patience runs out before."""
        torch.manual_seed(self.seed + 1_000_003 * (self.epochs + 1))
        with tensor_cores(self.x.device):
            self._run(until)
        return self

    def _run(self, until: int) -> None:
        graph = None
        warm = min(self.epochs + WARM_UP, until)
        while self.epochs < until and not self.has_ended:
            if graph is not None:
                graph.replay()
            else:
                self._epoch()
            self.epochs += 1
            if self.capture and graph is None and self.epochs >= warm:
                graph = self._captured()
            if self.epochs % CHECK == 0:
                self.has_ended = int(self._since) >= self.patience
        if graph is not None:
            # Its memory goes with it.
            torch.cuda.synchronize(self.x.device)

    def _captured(self) -> torch.cuda.CUDAGraph:
        """The next epoch as a CUDA graph; capturing does not run it."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._epoch()
        return graph

    def _epoch(self) -> None:
        self.model.train()
        self.optimiser.zero_grad(set_to_none=False)
        train = self.data.train
        logits = self.model(self.x, self.data.edges)
        loss = F.cross_entropy(logits[train.node], train.y)
        extra = self.model.extra_loss()
        (loss if extra is None else loss + extra).backward()
        self.optimiser.step()
        self._select()

    @torch.no_grad()
    def _select(self) -> None:
        """Take over the prediction of the best validation score; ties by the loss."""
        self.model.eval()
        logits, val = self.model(self.x, self.data.edges), self.data.val
        score = val.score(logits, self.data.metric)
        loss = F.cross_entropy(logits[val.node], val.y).double()
        ties = (score == self._val) & (loss < self._loss)
        is_best = (score > self._val) | ties
        pairs = [(self._val, score), (self._loss, loss), (self.logits, logits)]
        state = self.model.state_dict() if self._best else {}
        pairs += [(self._best[name], part) for name, part in state.items()]
        for best, new in pairs:
            best.copy_(torch.where(is_best, new, best))
        self._since.add_(1).mul_(~is_best)

    @torch.no_grad()
    def predict(self, features: ScaledFeatures, edges: PeerEdges) -> Tensor:
        """Class scores of another graph by the weights of the best epoch, [N, C].

        The training cannot be continued after it.
        """
        if not self._best:
            raise ValueError("`keep_weights` must be on to predict other graphs.")
        self.model.load_state_dict(self._best)
        self.model.eval()
        with tensor_cores(self.x.device):
            found = self.model(features.scaled(self.setting.scaling), edges)
        assert isinstance(found, Tensor)
        return found
