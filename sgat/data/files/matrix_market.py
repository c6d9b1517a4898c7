"""Matrix Market files: a square sparse matrix as edges row → column.

SciPy writes them; NumPy reads them, line by line. SciPy's reader was tried: it takes
`1d3` for 1, and 1.5 for 1 among integers, without a word, and makes room for as many
entries as the header declares. With checks against that it took 0.9 s for a million
entries, as this reader does.
"""

import dataclasses
import json
import warnings
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from sgat.data.files.bounds import NODE, check_size
from sgat.data.files.source import Source, check_magic, line_name

BANNER = b"%%MatrixMarket"
ID_COMMENT = "% sgat node id: "
"""Begins the comment that names a node, as JSON; one per node, in their order."""
FIELDS = ("pattern", "integer", "real", "double")

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class _Head:
    field: str
    is_symmetric: bool
    num_nodes: int
    num_entries: int
    ids: list[Any]
    num_lines: int


def read_matrix_market(
    path: Path, *, src: str, dst: str, weight: str, id: str
) -> tuple[Source, Source, bool]:
    """Read the edges and the nodes 1 … N, and whether the matrix is symmetric.

    Each entry of a symmetric matrix stands for both directions. Where the comments of
    `write_matrix_market` name the nodes, those are the ids.
    """
    check_magic(path, BANNER, "a Matrix Market file")
    with path.open("rb") as file:
        head = _read_head(path, file)
        entries = _read_entries(path, file, head)

    def where(row: int) -> str:
        return line_name((line for line, _ in _entry_lines(path, head)), row)

    for end in ("row", "column"):
        bad = (entries[end] < 1) | (entries[end] > head.num_nodes)
        if bad.any():
            entry = int(bad.argmax())
            raise ValueError(
                f"{path}, {where(entry)}: the {end} index must be 1 to"
                f" {head.num_nodes}, got {entries[end][entry]}."
            )
    ids = pa.array(head.ids or np.arange(1, head.num_nodes + 1))
    columns = {
        src: ids.take(pa.array(entries["row"] - 1)),
        dst: ids.take(pa.array(entries["column"] - 1)),
    }
    if head.field != "pattern":
        columns[weight] = pa.array(np.ascontiguousarray(entries["value"]))
    edges = Source(pa.table(columns), str(path), "mtx", locate=where)
    return edges, Source(pa.table({id: ids}), str(path), "mtx"), head.is_symmetric


def write_matrix_market(
    path: Path,
    row: Array,
    column: Array,
    weight: Array | None,
    ids: list[Any],
    *,
    is_symmetric: bool,
) -> None:
    """Write edges between nodes 0 … N-1, in the given order.

    Ids other than 1 … N are kept in comments, which other readers skip. A symmetric
    matrix stores each edge below the diagonal; a pair given more than once becomes one
    entry with the weight that `Graph.from_edges` gives it.
    """
    import scipy.io
    from scipy.sparse import coo_array

    if is_symmetric:
        row, column, weight = _below_diagonal(row, column, weight)
    field = "pattern"
    if weight is not None:
        field = "integer" if weight.dtype.kind in "iu" else "real"
        weight = weight.astype(np.int64 if field == "integer" else np.float64)
    value = np.ones(len(row)) if weight is None else weight
    names = [] if ids == list(range(1, len(ids) + 1)) else ids
    comment = "\n".join(f"{ID_COMMENT[1:]}{json.dumps(name)}" for name in names)
    kind = "symmetric" if is_symmetric else "general"
    matrix = coo_array((value, (row, column)), shape=(len(ids), len(ids)))
    with path.open("wb") as file:
        scipy.io.mmwrite(file, matrix, comment=comment, field=field, symmetry=kind)


def _below_diagonal(
    row: Array, column: Array, weight: Array | None
) -> tuple[Array, Array, Array | None]:
    """Swap the ends where needed; of a pair given twice the largest weight counts."""
    large, small = np.maximum(row, column), np.minimum(row, column)
    key = large * (large.max(initial=0) + 1) + small
    _, first, pair = np.unique(key, return_index=True, return_inverse=True)
    if len(first) == len(key):
        return large, small, weight
    value = np.ones(len(row)) if weight is None else weight
    total = np.zeros(len(first), dtype=value.dtype)
    np.maximum.at(total, pair, value)
    order = first.argsort()
    first, total = first[order], total[order]
    return large[first], small[first], None if weight is None else total


def _read_head(path: Path, file: IO[bytes]) -> _Head:
    words = _text(path, file.readline(), 1).lower().split()
    if len(words) != 5 or words[1] != "matrix":
        raise ValueError(
            f"{path}, line 1: the header must read '%%MatrixMarket matrix coordinate"
            f" FIELD SYMMETRY', got {' '.join(words)!r}."
        )
    for what, found, known in (
        ("layout", words[2], ("coordinate",)),
        ("field", words[3], FIELDS),
        ("symmetry", words[4], ("general", "symmetric")),
    ):
        if found not in known:
            raise ValueError(
                f"{path}, line 1: the {what} must be {' or '.join(known)},"
                f" got {found!r}."
            )
    ids, number = [], 2
    line = _text(path, file.readline(), number)
    while line.startswith("%") or (line and not line.strip()):
        if line.startswith(ID_COMMENT):
            ids.append(_id(path, line, number))
        number += 1
        line = _text(path, file.readline(), number)
    try:
        rows, columns, entries = (int(word) for word in line.split())
    except ValueError as error:
        raise ValueError(
            f"{path}, line {number}: the size must be three integers, got"
            f" {line.strip()!r}."
        ) from error
    if rows != columns or min(rows, entries) < 0:
        raise ValueError(
            f"{path}, line {number}: the matrix of a graph must be square, got"
            f" {rows} x {columns} with {entries} entries."
        )
    check_size(path, rows * NODE, "leave out nodes without edges")
    if ids and len(ids) != rows:
        raise ValueError(
            f"{path}: the comments must name all {rows} nodes or none, got {len(ids)}."
        )
    if len({type(name) for name in ids}) > 1:
        raise ValueError(f"{path}: node ids must be all integers or all strings.")
    return _Head(words[3], words[4] == "symmetric", rows, entries, ids, number)


def _id(path: Path, line: str, number: int) -> Any:
    try:
        found = json.loads(line.removeprefix(ID_COMMENT))
    except (json.JSONDecodeError, RecursionError):
        found = None
    is_number = type(found) is int and -(2**63) <= found < 2**63
    if not is_number and not isinstance(found, str):
        raise ValueError(
            f"{path}, line {number}: a node id must be an integer or a string in JSON,"
            f" got {line.removeprefix(ID_COMMENT).strip()!r}."
        )
    return found


def _text(path: Path, line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}, line {number}: not UTF-8 ({error}).") from error


def _read_entries(path: Path, file: IO[bytes], head: _Head) -> Any:
    value = {"pattern": [], "integer": [("value", np.int64)]}.get(
        head.field, [("value", np.float64)]
    )
    dtype = np.dtype([("row", np.int64), ("column", np.int64), *value])
    try:
        with warnings.catch_warnings():
            # An index with a decimal point and a file without entries.
            warnings.simplefilter("error", DeprecationWarning)
            warnings.simplefilter("ignore", UserWarning)
            found = np.loadtxt(file, dtype, comments="%", ndmin=1, encoding="utf-8")
    except (ValueError, DeprecationWarning, OverflowError) as error:
        raise _entry_fault(path, head, 2 + len(value), error) from error
    if len(found) != head.num_entries:
        raise ValueError(
            f"{path}, line {head.num_lines}: declares {head.num_entries} entries, but"
            f" {len(found)} follow."
        )
    return found


def _entry_fault(path: Path, head: _Head, width: int, error: Exception) -> ValueError:
    for number, line in _entry_lines(path, head):
        words = line.split("%")[0].split()
        try:
            ends = [int(word) for word in words[:2]]
            values = [float(word) for word in words[2:]]
        except ValueError:
            ends, values = [], []
        if len(ends) + len(values) != width:
            return ValueError(
                f"{path}, line {number}: an entry must be {width} numbers for a"
                f" {head.field} matrix, got {line.strip()!r}."
            )
    return ValueError(f"{path}: the entries cannot be read ({error}).")


def _entry_lines(path: Path, head: _Head) -> Any:
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            if number > head.num_lines and line.split("%")[0].strip():
                yield number, line
