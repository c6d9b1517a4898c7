"""Epochs: train, evaluate and select, without waiting for the device.

Everything an epoch decides is decided in tensors on the device, and its report is one
row of numbers that is read later, so a GPU can capture a whole epoch as a CUDA graph
and replay it. Only dealing several graphs into batches anew each epoch waits.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from sgat import ops
from sgat.config import TrainConfig
from sgat.conv import SGATConv
from sgat.data.node_data import NodeData, merge
from sgat.models import SGAT
from sgat.node_classifier import NodeClassifier, Output
from sgat.ops import OpenEdges, Seed, noise
from sgat.parallel.part import own_data
from sgat.parallel.ranks import Ranks
from sgat.training import files, metrics
from sgat.training.budget import EdgeBudget, bias_shift
from sgat.training.role import Role

STEP_COLUMNS = ("loss", "data_loss", "open_share", "expected_open", "price")
COLUMNS = (*STEP_COLUMNS, "kept_share", "train", "val", "val_loss", "is_best")
"""Columns of the row of an epoch, float64; NaN where there is no value."""


class GateGradient(Protocol):
    """An estimate of the gradient by gates that pass none."""

    @property
    def state(self) -> dict[str, Tensor]:
        """Tensors that a checkpoint must hold, by name; changed in place."""

    def attach(
        self,
        loss: Tensor,
        opened: OpenEdges,
        seed: Seed,
        loss_with: Callable[[OpenEdges], Tensor],
    ) -> Tensor:
        """The loss with the edges `opened`, whose gradient by log α is an estimate.

        `seed` drew them; `loss_with` is the loss with other edges, all else equal.
        """


class Epochs:
    """The moving parts of a training run, all on one device.

    There is no `budget` with a fixed λ. Gates that pass no gradient need an
    `estimator`, set before the first epoch; the hard concrete needs none. `best` are
    the weights selected so far, and `best_val` is their validation score. `number`
    counts the epochs on the device. Of several processes each owns some nodes; all
    reach the same numbers and weights.
    """

    def __init__(
        self,
        model: NodeClassifier,
        graphs: Sequence[NodeData],
        config: TrainConfig,
        ranks: Ranks | None = None,
    ) -> None:
        """Move nothing: model and graphs must be on the same device already."""
        self.model = model
        self.config = config
        self.ranks = ranks
        self.device = graphs[0].graph.device
        self.budget: EdgeBudget | None = None
        if config.keep is not None:
            warmup = config.warmup_epochs
            self.budget = EdgeBudget(config.keep, warmup=warmup, device=self.device)
            if self._gating.gate_bias is not None:
                self._gating.gate_bias.requires_grad_()
        self.estimator: GateGradient | None = None
        self.optimiser = self._optimiser()
        ready = [(data, self._ready(data)) for data in graphs]
        self.training = [own for data, own in ready if bool(data.train.any())]
        # Graphs that only test are not looked at before the end.
        self.seen = [own for data, own in ready if bool((data.train | data.val).any())]
        self.roles = [
            {name: Role(data, getattr(data, name)) for name in ("train", "val")}
            for data in self.seen
        ]
        self.has_val = any(len(roles["val"].y) for roles in self.roles)
        self.labels = {
            name: torch.cat([roles[name].y for roles in self.roles])
            for name in ("train", "val")
        }
        size = graphs[0].num_classes
        for name, role in (("train", "training"), ("val", "validation")):
            if len(self.labels[name]):
                metrics.check_metric(config.metric, self.labels[name], size, role)
        self.class_weights: Tensor | None = None
        if config.class_weights:
            self.class_weights = metrics.class_weights(self.labels["train"], size)
        self.num_seen_edges = sum(data.graph.total_edges for data in self.seen)
        self.best = {name: t.clone() for name, t in model.state_dict().items()}
        scalar: dict[str, Any] = {"device": self.device}
        self.best_val = torch.full((), -torch.inf, dtype=torch.float64, **scalar)
        self.number = torch.zeros(1, dtype=torch.long, **scalar)
        self._schedule(scalar)
        self._whole: tuple[NodeData, Role] | None = None

    @property
    def can_capture(self) -> bool:
        """Whether every epoch is the same work, so that a CUDA graph can replay it."""
        size = self.config.batch_size
        one_step = size is None or size >= len(self.training)
        return self.device.type == "cuda" and one_step and self.model.can_replay

    @property
    def state(self) -> dict[str, Tensor]:
        """Tensors of a checkpoint besides model and optimiser; change them in place."""
        state = {**files.pack("best", self.best), "best_val": self.best_val}
        if self.budget is not None:
            state["multiplier"] = self.budget.multiplier
        if self.estimator is not None:
            state |= files.pack("gate_gradient", self.estimator.state)
        return state

    def run(self, epoch: int | None) -> Tensor:
        """Train on every training graph once, evaluate, and keep the best weights.

        Returns the row of the epoch, [len(COLUMNS)] float64 on the device. Under
        capture `epoch` is None: only the device knows it.
        """
        self.model.train()
        if epoch is not None:
            self.model.progress = epoch / self.config.epochs
        steps = [self._step(*batch) for batch in self._batches(epoch)]
        mean = torch.stack(steps).mean(dim=0) if len(steps) > 1 else steps[0]
        row = torch.cat([mean, self._evaluate(epoch)])
        self.number += 1
        return row

    def _schedule(self, scalar: dict[str, Any]) -> None:
        """The schedule: values of each epoch, as tensors indexed by its number."""
        config, budget = self.config, self.budget
        epochs = range(config.epochs)
        seeds = [noise.derive(config.seed, epoch, 0, 0) for epoch in epochs]
        self.seeds = torch.tensor(seeds, dtype=torch.long, **scalar)
        rise = config.warmup_epochs + 1
        price, model = config.l0_weight, self.model
        if isinstance(model, SGAT):
            stays = model.judge is not None and budget is None
            # Gates that nothing depends on would close at any price.
            price = price if model.reach and not stays else 0.0
        prices = [price * min(1.0, (e + 1) / rise) for e in epochs]
        self.prices = torch.tensor(prices, dtype=torch.float64, **scalar)
        shares = [1.0 if budget is None else budget.target(e) for e in epochs]
        self.targets = torch.tensor(shares, dtype=torch.float64, **scalar)
        num_kept = [round(share * self.num_seen_edges) for share in shares]
        self.num_kept = torch.tensor(num_kept, **scalar)
        # A model that has not come down to the budget yet is no candidate.
        candidates = [config.keep is None or share == config.keep for share in shares]
        self.candidates = torch.tensor(candidates, **scalar)

    def _now(self, schedule: Tensor) -> Tensor:
        return schedule.index_select(0, self.number).squeeze(0)

    @property
    def _gating(self) -> SGATConv:
        """The gates a budget moves."""
        assert isinstance(self.model, SGAT)
        return self.model.gating

    def _optimiser(self) -> torch.optim.Adam:
        config = self.config
        options: dict[str, Any] = {"lr": config.lr, "fused": True}
        if self.device.type == "cuda":
            options["capturable"] = True
        if self.budget is None:
            options["weight_decay"] = config.weight_decay
            return torch.optim.Adam(self.model.parameters(), **options)
        # The budget moves the bias itself, and sets the level of the scores, which L2
        # would pull back to 0.
        gating = self._gating
        assert gating.scorer is not None and gating.gate_bias is not None
        scorer = list(gating.scorer.parameters())
        scorer += [] if gating.attr_weight is None else [gating.attr_weight]
        apart = {id(parameter) for parameter in [*scorer, gating.gate_bias]}
        rest = [p for p in self.model.parameters() if id(p) not in apart]
        groups: list[dict[str, Any]] = [
            {"params": rest, "weight_decay": config.weight_decay},
            {"params": scorer, "weight_decay": 0.0},
        ]
        return torch.optim.Adam(groups, **options)

    def _batches(self, epoch: int | None) -> list[tuple[Tensor, NodeData, Role]]:
        """Seed, data and training nodes of each step of an epoch."""
        size = self.config.batch_size
        if size is None or size >= len(self.training):
            if self._whole is None:
                several = len(self.training) > 1
                data = merge(self.training) if several else self.training[0]
                self._whole = data, Role(data, data.train)
            return [(self._now(self.seeds), *self._whole)]
        assert epoch is not None
        seed = noise.derive(self.config.seed, epoch, 1)
        order = torch.randperm(
            len(self.training), generator=torch.Generator().manual_seed(seed)
        ).tolist()
        batches = []
        for step, start in enumerate(range(0, len(order), size)):
            data = merge([self.training[i] for i in order[start : start + size]])
            key = noise.derive(self.config.seed, epoch, 0, step)
            batches.append((torch.tensor(key), data, Role(data, data.train)))
        return batches

    def _ready(self, data: NodeData) -> NodeData:
        """The own data with features scaled once, not in every pass; judged before."""
        if self.ranks is not None:
            data = own_data(data, self.ranks)
        if not isinstance(self.model, SGAT):
            return data
        x = self.model.scaling(data.x)
        return data if x is data.x else dataclasses.replace(data, x=x)

    def _compute(
        self, data: NodeData, seed: Tensor | None, opened: OpenEdges | None = None
    ) -> Output:
        context: Any = contextlib.nullcontext()
        if self.config.precision == "bfloat16":
            context = torch.autocast(self.device.type, torch.bfloat16)
        with context:
            if not isinstance(self.model, SGAT):
                return self.model.compute(data.x, data.graph, seed=seed)
            edges = data.graph if opened is None else opened
            return self.model.compute(data.x, edges, seed=seed, is_scaled=True)

    def _step(self, seed: Tensor, data: NodeData, role: Role) -> Tensor:
        def loss_of(found: Output) -> Tensor:
            return metrics.loss_on(role.logits(found), role.y, self.class_weights)

        self.optimiser.zero_grad(set_to_none=False)
        output = self._compute(data, seed)
        data_loss = loss_of(output)
        num_edges = max(data.graph.total_edges, 1)
        open_share = output.used_edges(data.graph) / num_edges
        opened = output.opened
        if self.estimator is not None:
            assert opened is not None
            data_loss = self.estimator.attach(
                data_loss,
                opened,
                seed,
                lambda edges: loss_of(self._compute(data, seed, edges)),
            )
        if opened is None:
            share, price = open_share, torch.zeros_like(data_loss)
            loss = data_loss
        else:
            share, price = opened.penalty / num_edges, self._now(self.prices)
            loss = data_loss + price.to(opened.penalty) * opened.penalty
        extra: float | Tensor = 0.0 if output.extra_loss is None else output.extra_loss
        loss = loss + extra
        if self.budget is None or data.graph.total_edges == 0:
            loss.backward()
            self._summed()
            self.optimiser.step()
        else:
            bias = self._gating.gate_bias
            assert bias is not None
            price = self.budget.multiplier / num_edges
            loss = data_loss + extra + self.budget.multiplier.to(share) * share
            parts = data_loss + extra, share, bias
            slope = self.budget.backward(*parts, self._summed)
            self.optimiser.step()
            target = self._now(self.targets)
            self.budget.step(bias, share.detach(), target, slope)
        numbers = (loss, data_loss, open_share, share, price)
        return torch.stack([number.detach().double() for number in numbers])

    def _summed(self, *slopes: Tensor) -> list[Tensor]:
        """Slopes summed over all processes; so are the gradients of the weights."""
        if self.ranks is None:
            return list(slopes)
        self.ranks.share_gradients(self.model.parameters())
        return [self.ranks.summed(slope) for slope in slopes]

    @torch.no_grad()
    def _evaluate(self, epoch: int | None) -> Tensor:
        """Score the model with evaluation gates and select it if it is the best."""
        self.model.eval()
        with self.evaluation_bias(epoch):
            kept = self.number.new_zeros(())
            logits: dict[str, list[Tensor]] = {"train": [], "val": []}
            for data, roles in zip(self.seen, self.roles, strict=True):
                output = self._compute(data, None)
                kept = kept + output.used_edges(data.graph)
                for name, role in roles.items():
                    logits[name].append(role.logits(output))
            found = {name: torch.cat(parts) for name, parts in logits.items()}
            labels, metric = self.labels, self.config.metric
            train = metrics.score(found["train"], labels["train"], metric)
            val, val_loss = torch.full_like(train, torch.nan), train
            if self.has_val:
                val = metrics.score(found["val"], labels["val"], metric)
                val_loss = metrics.loss_on(found["val"], labels["val"]).double()
            # A model whose scores are no numbers is never selected.
            is_finite = torch.stack([f.isfinite().all() for f in found.values()]).all()
            if self.ranks is not None:
                # Another machine may round otherwise.
                agreed = torch.stack([train, val, val_loss, is_finite.double()])
                train, val, val_loss, is_finite = self.ranks.of_first(agreed)
                is_finite = is_finite > 0
            is_best = self._select(val, is_finite)
        share = kept.double() / max(self.num_seen_edges, 1)
        return torch.stack([share, train, val, val_loss, is_best.double()])

    @contextlib.contextmanager
    def evaluation_bias(self, epoch: int | None) -> Any:
        """With a budget, shift the bias so that evaluation keeps exactly the target.

        Drawn gates meet the budget on average; the median gates of evaluation would
        not, where scores are close together.
        """
        if self.budget is None:
            yield
            return
        gating = self._gating
        bias = gating.gate_bias
        assert bias is not None
        parts = [
            ops.log_alphas(data.graph, *gating.score(data.x, data.graph))
            for data in self.seen
        ]
        num_kept = self._now(self.num_kept) if epoch is None else self.num_kept[epoch]
        before = bias.clone()
        log_alpha = torch.cat(parts)
        if self.ranks is not None:
            log_alpha = self.ranks.gathered(log_alpha, "scores")
        bias.add_(bias_shift(log_alpha, num_kept, gating.gates))
        yield
        bias.copy_(before)

    def _select(self, val: Tensor, is_finite: Tensor) -> Tensor:
        """Take over the weights if they are the best so far; a boolean scalar."""
        if self.config.select == "last" or not self.has_val:
            is_best = is_finite
        else:
            latest = self.config.ties == "latest"
            better = val >= self.best_val if latest else val > self.best_val
            is_best = better & is_finite & self._now(self.candidates)
        self.best_val.copy_(torch.where(is_best, val, self.best_val))
        for name, tensor in self.model.state_dict().items():
            best = self.best[name]
            best.copy_(torch.where(is_best, tensor, best))
        return is_best


class CapturedEpochs:
    """One epoch as a CUDA graph, replayed into a table of rows."""

    def __init__(self, epochs: Epochs, length: int) -> None:
        """Capture one epoch, after one has run; `length` rows are read at a time."""
        self.rows = torch.empty(
            length, len(COLUMNS), dtype=torch.float64, device=epochs.device
        )
        self.place = torch.zeros(1, dtype=torch.long, device=epochs.device)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            row = epochs.run(None)
            self.rows.index_copy_(0, self.place, row[None])
            self.place += 1

    def run(self, number: int) -> Tensor:
        """Run so many epochs and return their rows, [number, len(COLUMNS)]."""
        self.place.zero_()
        for _ in range(number):
            self.graph.replay()
        return self.rows[:number]
