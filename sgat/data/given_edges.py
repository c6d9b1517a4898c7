"""Edges without a graph object: arrays, tables and matrices; and fewer of them back."""

from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from sgat.features import check_sparse

ENDS = ("src", "dst")


def read_edges(edges: Any, x: Any = None) -> tuple[Tensor, Tensor | None, int | None]:
    """Edges as a tensor [2, E], their weights [E], and the number of nodes if it shows.

    Args:
        edges: Node numbers, [2, E] or [E, 2]; a pandas table with columns src and dst,
            and perhaps weight; or a square sparse matrix of SciPy or torch, in which
            A[i, j] is the weight of the edge i → j.
        x: Features; the index of a table has the ids that a table of edges names.
    """
    if _is_table(edges):
        index = _index_of_table(edges, x.index if _is_table(x) else None)
        weight = edges.get("weight")
        if weight is not None:
            weight = torch.tensor(np.asarray(weight), dtype=torch.get_default_dtype())
        return index, weight, None
    matrix = _as_coo(edges)
    if matrix is None:
        return as_edge_index(edges), None, None
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"`edges` must be a square matrix, a row and a column for each node, got"
            f" shape {list(matrix.shape)}."
        )
    index = torch.from_numpy(np.stack([matrix.row, matrix.col]).astype(np.int64))
    weight = torch.tensor(matrix.data, dtype=torch.get_default_dtype())
    is_plain = bool((weight == 1).all())
    return index, None if is_plain else weight, int(matrix.shape[0])


def kept_edges(edges: Any, kept: Tensor, weight: Tensor) -> Any:
    """The marked edges in the form they were given, with these weights, both [E].

    A table has them in its column weight, a matrix as its entries; arrays come back as
    a pair of edges and weights.
    """
    mask: Any = kept.numpy(force=True)
    values: Any = weight[kept].numpy(force=True)
    if _is_table(edges):
        return edges[mask].assign(weight=values)
    matrix = _as_coo(edges)
    if matrix is not None:
        ends = matrix.row[mask], matrix.col[mask]
        if isinstance(edges, Tensor):
            index = torch.from_numpy(np.stack(ends).astype(np.int64))
            return sparse_tensor(index, weight[kept], edges)
        return type(edges)(sparse.coo_array((values, ends), shape=matrix.shape))
    if isinstance(edges, Tensor):
        mask, values = kept.to(edges.device), weight[kept].to(edges.device)
    else:
        edges = np.asarray(edges)
    turned = as_edge_index(edges).shape != edges.shape
    return edges[mask] if turned else edges[:, mask], values


def sparse_tensor(index: Tensor, value: Tensor, like: Tensor) -> Tensor:
    """A sparse tensor of torch with these entries, in the form of another one."""
    found = torch.sparse_coo_tensor(index, value, like.shape, check_invariants=True)
    return found.coalesce().to_sparse(layout=like.layout)


def as_edge_index(edges: Any) -> Tensor:
    """Edges as a tensor [2, E]; one of shape [E, 2] with E ≠ 2 is turned."""
    if isinstance(edges, Tensor):
        index = edges
    else:
        array = np.asarray(edges)
        if array.size == 0:
            return torch.empty(2, 0, dtype=torch.long)
        if not np.issubdtype(array.dtype, np.integer):
            raise ValueError(
                f"`edges` must hold node numbers, got {array.dtype}; ids of another"
                " kind go into a pandas table with columns src and dst, beside a table"
                " `X` whose index has them."
            )
        index = torch.from_numpy(np.ascontiguousarray(array.astype(np.int64)))
    turned = index.dim() == 2 and index.shape[0] != 2 and index.shape[1] == 2
    return index.T if turned else index


def _is_table(value: Any) -> bool:
    """Whether this is a table of pandas, found out without importing it."""
    return hasattr(value, "columns") and hasattr(value, "iloc")


def _as_coo(edges: Any) -> Any:
    """A sparse matrix as entries that are not 0, each once; None for anything else."""
    if isinstance(edges, Tensor) and edges.layout != torch.strided:
        check_sparse(edges, "edges")
        entries = edges.cpu().to_sparse_coo().coalesce()
        ends = tuple(entries.indices().numpy())
        edges = sparse.coo_array((entries.values().numpy(), ends), shape=edges.shape)
    if not hasattr(edges, "tocsr"):
        return None
    check_sparse(edges, "edges")
    rows = sparse.csr_array(edges, copy=True)
    check_sparse(rows, "edges")
    rows.eliminate_zeros()
    return rows.tocoo()


def _index_of_table(table: Any, ids: Any) -> Tensor:
    for name in ENDS:
        if name not in table.columns:
            raise ValueError(
                f"The table `edges` must have columns src and dst, got"
                f" {', '.join(map(str, table.columns))}; rename yours."
            )
    if ids is None:
        return as_edge_index(np.stack([table[name].to_numpy() for name in ENDS]))
    if not ids.is_unique:
        raise ValueError(
            f"The index of `X` must have each id once, got"
            f" {ids[ids.duplicated()][0]!r} twice."
        )
    places = []
    for name in ENDS:
        place = ids.get_indexer(table[name])
        if (place < 0).any():
            row = int((place < 0).argmax())
            raise ValueError(
                f"The column {name} of `edges` names {table[name].iloc[row]!r} in row"
                f" {row}, which the index of `X` does not have; make the ids the"
                " index of `X`, or add its row."
            )
        places.append(place)
    return torch.from_numpy(np.stack(places).astype(np.int64))
