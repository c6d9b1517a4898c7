"""JudgeEdges: a transform of PyG that removes or weighs edges."""

import copy
from collections.abc import Sequence
from typing import Any, Literal, get_args

from sgat.data.hetero import is_hetero
from sgat.judging.judged_edges import judge
from sgat.judging.promise import check_promise

try:
    from torch_geometric.transforms import BaseTransform
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "`JudgeEdges` needs PyTorch Geometric (`torch_geometric`); install it with"
        " `pip install 'sgat[lab]'`.",
        name=error.name,
    ) from error

Action = Literal["remove", "weigh"]


class JudgeEdges(BaseTransform):  # type: ignore[misc]
    """Remove the edges of a PyG `Data` that look wrong, or weigh all by P(real).

        transform = T.Compose([JudgeEdges(at_most_wrong=0.1), T.ToSparseTensor()])

    Classes are looked at where `train_mask` says so, or everywhere without a mask.

    Args:
        action: "remove" removes edges and what belongs to them (`edge_attr`, …).
            "weigh" keeps all and multiplies `edge_weight` by P(real).
        at_most_wrong: Of the removed edges at most this share is right (expected).
        find_at_least: At least this share of the wrong edges goes (expected). Without
            either, edges stay that are more likely real than wrong.
        edge_columns: Names of attributes of the edges that may tell which are wrong.
        seed: Of all that is drawn.
    """

    def __init__(
        self,
        action: Action = "remove",
        *,
        at_most_wrong: float | None = None,
        find_at_least: float | None = None,
        edge_columns: Sequence[str] = (),
        seed: int = 0,
    ) -> None:
        if action not in get_args(Action):
            raise ValueError(f"`action` must be remove or weigh, got {action!r}.")
        check_promise(at_most_wrong, find_at_least)
        if action == "weigh" and (at_most_wrong or find_at_least):
            name = "at_most_wrong" if at_most_wrong else "find_at_least"
            raise ValueError(f"`{name}` goes with the action remove, got weigh.")
        self.action, self.seed = action, seed
        self.edge_columns = edge_columns
        self.promise = {"at_most_wrong": at_most_wrong, "find_at_least": find_at_least}

    def forward(self, data: Any) -> Any:
        """A `Data` with fewer edges, or with other weights; a graph without stays."""
        if is_hetero(data):
            raise ValueError(
                "`JudgeEdges` takes a Data, got a HeteroData, for which there is"
                " `sgat.judge(data).remove()`."
            )
        if not bool((data.edge_index[0] != data.edge_index[1]).any()):
            return data
        judged = judge(data, seed=self.seed, edge_columns=self.edge_columns)
        device = data.edge_index.device
        if self.action == "remove":
            stays = ~judged.choose(**self.promise).mask
            return data.edge_subgraph(stays.to(device))
        weighed = copy.copy(data)
        weight = getattr(data, "edge_weight", None)
        factor = judged.probability.to(device)
        weighed.edge_weight = factor if weight is None else weight * factor
        return weighed
