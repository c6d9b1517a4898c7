"""Jobs of several processes on this machine, and what each of them does."""

import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sgat import ops
from sgat.config import ModelConfig, TrainConfig
from sgat.data.node_data import NodeData
from sgat.graph import Graph
from sgat.ops import noise
from sgat.ops.sharded import ShardedEdges
from sgat.parallel.part import node_bounds, own_data
from sgat.parallel.ranks import RankLostError, Ranks, Swap, joined
from sgat.training.loop import Training


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def names(number: int, size: int, port: int) -> dict[str, str]:
    """The variables of the environment that `torchrun` sets."""
    named = {"RANK": number, "WORLD_SIZE": size, "MASTER_PORT": port}
    return {
        **{name: str(value) for name, value in named.items()},
        **{"MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1"},
    }


def _work(variables: dict[str, str], job: Any, given: tuple[Any, ...], out: Path):
    os.environ |= variables
    torch.set_num_threads(1)
    with joined() as ranks:
        torch.save(job(ranks, *given), out)


class RankJob:
    """Processes that each run `job(ranks, *given)` and store what it returns."""

    def __init__(self, size: int, job: Callable[..., Any], *given: Any, folder: Path):
        context, port = multiprocessing.get_context("spawn"), free_port()
        self.outs = [folder / f"{number}.pt" for number in range(size)]
        self.processes = [
            context.Process(target=_work, args=(names(n, size, port), job, given, out))
            for n, out in enumerate(self.outs)
        ]
        for process in self.processes:
            process.start()

    def wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(deadline - time.monotonic(), 0))
        for process in self.processes:
            process.kill()
            process.join()

    @property
    def exit_codes(self) -> list[int | None]:
        return [process.exitcode for process in self.processes]


def run_job(size: int, job: Callable[..., Any], *given: Any, folder: Path) -> list[Any]:
    """What the function returns in each of so many processes."""
    work = RankJob(size, job, *given, folder=folder)
    work.wait(seconds=900)
    assert work.exit_codes == [0] * size
    return [torch.load(out, weights_only=False) for out in work.outs]


def talk(ranks: Ranks) -> dict[str, Any]:
    """One of everything that two processes say to each other."""
    number = ranks.number
    own = torch.tensor([1.0, 10.0]) * (number + 1)
    x = torch.tensor([[0.0, 1.0], [10.0, 11.0]][number], requires_grad=True)
    # Process 0 gives row 1, process 1 both of its rows.
    give = torch.tensor([[1], [0, 1]][number])
    counts = [[0, 1], [2, 0]][number], [[0, 2], [1, 0]][number]
    swapped = Swap.apply(x, ranks, give, *counts, "rows")
    (swapped * torch.tensor([[3.0, 4.0], [2.0]][number])).sum().backward()
    weight = torch.ones((), requires_grad=True)
    (gradient,) = torch.autograd.grad(5 * ranks.total(weight), weight)
    apart = ranks.total(weight, goes_on_apart=True) * (number + 1)
    (gradient_apart,) = torch.autograd.grad(apart, weight)
    return {
        "summed": ranks.summed(own),
        "gathered": ranks.gathered(torch.arange(number + 1) + 10 * number, "rest"),
        "of first": ranks.of_first(torch.tensor(number + 1)),
        "bytes": ranks.bytes_of_first(lambda: f"from {number}".encode()),
        "any": (ranks.any(number == 1), ranks.any(False)),
        "swapped": swapped.detach(),
        "swapped gradient": x.grad,
        "gradient": float(gradient),
        "gradient apart": float(gradient_apart),
        "bytes of rows": ranks.sent["rows"],
    }


def die_in_the_middle(ranks: Ranks) -> str:
    """What a process says when another is killed; it asks for its name until then."""
    try:
        for step in range(1000):
            if step == 7 and ranks.number:
                os.kill(os.getpid(), signal.SIGKILL)
            ranks.any(False)
    except RankLostError as error:
        return str(error)
    return ""


def halo(ranks: Ranks | None, data: NodeData, log_alphas: list[float]) -> dict:
    """Sums over edges that are open by chance, their gradients, and bytes of rows."""
    graph = data.graph
    part = graph if ranks is None else own_data(data, ranks).graph
    bounds = [0, graph.num_nodes] if ranks is None else node_bounds(graph, ranks)
    number = 0 if ranks is None else ranks.number
    own = slice(*bounds[number : number + 2])
    edges = slice(int(graph.row_ptr[own.start]), int(graph.row_ptr[own.stop]))
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    size = graph.num_nodes
    nodes = [draw(size), draw(size), draw(size, 7), draw(size, 7)]
    *scores, x, slope = (part[own] for part in nodes)
    edge_score = draw(graph.num_edges)[edges]
    found = {}
    for log_alpha in log_alphas:
        inputs = [
            p.clone().requires_grad_() for p in (*scores, edge_score + log_alpha, x)
        ]
        opened = ops.open_edges(part, *inputs[:3], seed=5, backend="reference")
        before = 0 if ranks is None else ranks.sent["rows"]
        out = ops.aggregate(opened, inputs[3], dropout=0.3, seed=6)
        loss = (out * slope).sum()
        (loss + 0.01 * opened.penalty).backward()
        sent = 0 if ranks is None else ranks.sent["rows"] - before
        parts = [out.detach(), *(value.grad for value in inputs)]
        if ranks is not None:
            parts = [ranks.gathered(value, "rest") for value in parts]
        penalty = float(opened.penalty.detach())
        found[log_alpha] = parts, penalty, int(opened.num_open), sent
    return found


def directed_weighted(num_nodes: int = 211, degree: int = 5, seed: int = 0) -> NodeData:
    """Made data: directed edges with weights, mostly in a class, and three loops."""
    generator = torch.Generator().manual_seed(seed)

    def draw(high: int, size: int) -> Tensor:
        return torch.randint(high, (size,), generator=generator)

    y = draw(3, num_nodes)
    src, dst = draw(num_nodes, 9 * num_nodes), draw(num_nodes, 9 * num_nodes)
    keep = (y[src] == y[dst]) | (torch.rand(len(src), generator=generator) < 0.2)
    ends = torch.stack([src, dst])[:, keep][:, : degree * num_nodes]
    ends = torch.cat([ends, torch.arange(3).repeat(2, 1)], dim=1)
    weight = torch.rand(ends.shape[1], generator=generator) + 0.1
    x = torch.randn(num_nodes, 13, generator=generator)
    x[torch.arange(num_nodes), y] += 1
    role = draw(3, num_nodes)
    graph = Graph.from_edges(ends, num_nodes, weight, say_merged=False)
    roles = (role == 0, role == 1, role == 2)
    return NodeData(graph, x, y, *roles, classes=("a", "b", "c"))


def trained(
    ranks: Ranks | None,
    data: NodeData,
    cases: dict[str, tuple[ModelConfig, TrainConfig]],
) -> dict[str, dict[str, Any]]:
    """Losses and gates of each epoch of trainings, and the bytes that were sent."""
    found = {}
    for name, (model, train) in cases.items():
        before = 0 if ranks is None else sum(ranks.sent.values())
        training = Training([data], model, train, ranks=ranks)
        gates: list[Tensor] = []

        def keep(record: Any, training: Any = training, gates: Any = gates) -> None:
            gates.append(drawn_gates(training, record.epoch))

        result = training.run(on_epoch=keep)
        records = [
            [r.loss, r.val_loss, r.open_share, r.kept_share, r.val]
            for r in result.records
        ]
        sent = 0 if ranks is None else sum(ranks.sent.values()) - before
        found[name] = {
            "records": torch.tensor(records, dtype=torch.float64),
            "gates": torch.stack(gates),
            "weights": {k: v.clone() for k, v in training.model.state_dict().items()},
            "sent": sent,
        }
    return found


@torch.no_grad()
def drawn_gates(training: Training, epoch: int) -> Tensor:
    """The gates that all processes draw together for an epoch, [E]."""
    (data,), ranks = training.graphs, training.ranks
    own = data if ranks is None else own_data(data, ranks)
    model = training.model
    gating = model.gating
    seed = noise.derive(training.config.seed, epoch)
    h = gating.project(model.scaling(own.x), gating.weight, own.graph.node_id, seed)
    opened, _ = gating.gate(h, own.graph, seed)
    if isinstance(opened, ShardedEdges):
        opened = opened.among_columns
    gates = torch.zeros(own.graph.num_edges)
    gates[opened.edge] = opened.gate
    return gates if ranks is None else ranks.gathered(gates, "gates")
