"""Each malformed input is refused in one sentence, and leaves no file behind."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import io
import os
import pickle
import warnings
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from sgat.data.files import FileOptions, convert, read_graph

EDGES = "src,dst\na,b\nb,c\n"
NODES = "id,f,y\na,1,p\nb,2,q\nc,3,p\n"
HEADER = "%%MatrixMarket matrix coordinate real general\n"
XML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
NODE = '<node id="a"/>'
GRAPH = '<graph edgedefault="directed">'

Content = str | bytes | None


def parquet(columns: dict[str, Any], **options: Any) -> bytes:
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), buffer, **options)
    return buffer.getvalue()


def npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def zipped(
    name: str, content: bytes, method: int = zipfile.ZIP_DEFLATED, times: int = 1
) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", method) as archive:
        warnings.simplefilter("ignore")  # of names that occur twice
        for _ in range(times):
            archive.writestr(name, content)
    return buffer.getvalue()


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def zip_bomb() -> bytes:
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("src.npy", "w") as file,
    ):
        size = 1 << 26
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<i8", "fortran_order": False, "shape": (size,)}
        )
        block = bytes(1 << 22)
        for _ in range(size * 8 // len(block)):
            file.write(block)
    return buffer.getvalue()


def array_of(descr: str, *shape: int) -> bytes:
    """An archive whose array has a header and 24 bytes."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": descr, "fortran_order": False, "shape": shape}
    )
    return zipped("src.npy", buffer.getvalue() + bytes(24))


@dataclasses.dataclass(frozen=True)
class Case:
    """Two files, options, and the sentence that refuses them."""

    name: str
    message: str
    edges: Content | Callable[[], bytes] = EDGES
    nodes: Content = NODES
    edges_name: str = "e.csv"
    nodes_name: str = "n.csv"
    options: dict[str, Any] = dataclasses.field(default_factory=lambda: {"label": "y"})
    error: type[Exception] = ValueError


def edge_case(name: str, edges: Any, message: str, **fields: Any) -> Case:
    fields.setdefault("nodes", None)
    fields.setdefault("options", {})
    return Case(name, message, edges=edges, **fields)


def node_case(name: str, nodes: Content, message: str, **fields: Any) -> Case:
    return Case(name, message, nodes=nodes, **fields)


INTEGERS = {"src": [1, 2], "dst": [2, 3]}
LONG = pa.array(["x" * 10_000] * 2_000)
CASES = [
    # Files and text
    edge_case("missing file", None, "e.csv: No such file or directory", error=OSError),
    edge_case("empty file", "", "e.csv: the file is empty."),
    edge_case("blank file", "\n\n", "e.csv: the file has no header line."),
    edge_case(
        "unknown suffix",
        EDGES,
        "e.xlsx: cannot use suffix '.xlsx' here; choose one of csv, graphml, mtx, npz,"
        " parquet, tsv.",
        edges_name="e.xlsx",
    ),
    edge_case(
        "format that is only written",
        "<gexf/>",
        "e.gexf: cannot use format 'gexf' here; choose one of csv, graphml,",
        edges_name="e.gexf",
    ),
    edge_case(
        "not UTF-8",
        b"src,dst\na,b\nb,\xe9\n",
        "e.csv, line 3: not UTF-8, got the byte 0xe9; save the file as UTF-8, or name"
        " its `encoding`, such as cp1252.",
    ),
    edge_case(
        "header not UTF-8",
        b"src,d\xe9\na,b\n",
        "e.csv, line 1: not UTF-8, got the byte",
    ),
    edge_case(
        "NUL byte",
        b"src,dst\na,b\0\n",
        "e.csv, line 2: holds a NUL byte, so is not text.",
    ),
    edge_case(
        "UTF-16",
        EDGES.encode("utf-16"),
        "e.csv: not a UTF-8 text table but UTF-16 text, whose `encoding` is utf-16.",
    ),
    edge_case(
        "Parquet called CSV",
        parquet(INTEGERS),
        "e.csv: not a UTF-8 text table but a Parquet file.",
    ),
    edge_case(
        "ragged row",
        "src,dst,weight\na,b,1\nb,c\n",
        "e.csv, line 3: 2 cells where the header has 3, beginning with 'b'.",
    ),
    edge_case(
        "row with a cell too many",
        "src,dst\na,b\n\nb,c,d\n",
        "e.csv, line 4: 3 cells where the header has 2, beginning with 'b'.",
    ),
    edge_case(
        "quote never closed",
        'src,dst\na,b\n"b,c\n',
        "e.csv, line 3: a quote is opened and never closed.",
    ),
    edge_case(
        "column twice",
        "src,dst,src\na,b,c\n",
        "e.csv, line 1: column 'src' occurs more than once.",
    ),
    edge_case(
        "other delimiter",
        "src dst\na b\n",
        "e.csv: no column 'src' for the source (`src`); if another character stands"
        " between the cells, name it with `delimiter`; the columns are 'src dst'.",
    ),
    edge_case(
        "no header",
        "1,2\n2,3\n",
        "e.csv: no column 'src' for the source (`src`); the first line must name the"
        " columns, and its columns are '1', '2'.",
    ),
    edge_case(
        "a first line for Excel",
        "sep=;\nsrc;dst\na;b\n",
        "e.csv: no column 'src' for the source (`src`); the first line must name the"
        " columns, and its columns are 'sep=', 'Unnamed: 1'.",
    ),
    # Edges
    edge_case(
        "misspelt column",
        "scr,dst\na,b\n",
        "e.csv: no column 'src' for the source (`src`); did you mean 'scr'? The columns"
        " are 'scr', 'dst'.",
    ),
    edge_case(
        "compressed under another name",
        gzip.compress(EDGES.encode()),
        "e.csv: not a UTF-8 text table but a gzip file, whose name must end in .gz.",
    ),
    edge_case(
        "compressed file that is cut short",
        gzip.compress(EDGES.encode() * 99)[:-20],
        "e.csv.gz: not a gzip file, or one that is cut short (",
        edges_name="e.csv.gz",
    ),
    node_case(
        "commas that may be decimal signs",
        'id,f,y\na,"1,5",p\nb,2,q\nc,"3,25",p\n',
        "n.csv, line 2, column 'f': '1,5' has a comma; `decimal` can be ',' if it is"
        " the decimal sign, and `categorical` names columns of categories.",
    ),
    edge_case(
        "wrong source column",
        "from,dst\na,b\n",
        "e.csv: no column 'src' for the source (`src`); the columns are 'from', 'dst'.",
    ),
    edge_case(
        "wrong target column",
        "src,to\na,b\n",
        "e.csv: no column 'dst' for the target (`dst`); the columns are 'src', 'to'.",
    ),
    edge_case(
        "wrong weight column",
        EDGES,
        "e.csv: no column 'w' for the weight (`weight`); the columns are 'src', 'dst'.",
        options={"weight": "w"},
    ),
    edge_case(
        "no rows",
        "src,dst\n",
        "e.csv: the edge table has no rows, and no node table lists the nodes.",
    ),
    edge_case(
        "missing id",
        "src,dst\na,b\n,c\n",
        "e.csv, line 3, column 'src': the id is missing, got nothing.",
    ),
    edge_case(
        "missing id in Parquet",
        parquet({"src": [1, 2], "dst": [2, None]}),
        "e.parquet, row 1, column 'dst': the id is missing, got nothing.",
        edges_name="e.parquet",
    ),
    edge_case(
        "dates as ids, beyond those of Python",
        parquet({end: pa.array([2**62], pa.timestamp("us")) for end in INTEGERS}),
        "e.parquet, column 'src': ids must be integers or strings, got timestamp[us].",
        edges_name="e.parquet",
    ),
    edge_case(
        "damaged sizes of a part",
        (Path(__file__).parent / "damaged_sizes.parquet").read_bytes(),
        "e.parquet: the Parquet file is cut short or damaged (",
        edges_name="e.parquet",
    ),
    edge_case(
        "ids of both kinds in Matrix Market",
        f'{HEADER}% sgat node id: 1\n% sgat node id: "a"\n2 2 0\n',
        "e.mtx: node ids must be all integers or all strings.",
        edges_name="e.mtx",
    ),
    edge_case(
        "decimal ids",
        parquet({"src": [1.5, 2.0], "dst": [2.0, 3.0]}),
        "e.parquet, column 'src': ids must be integers or strings, got double.",
        edges_name="e.parquet",
    ),
    edge_case(
        "mixed id types in one file",
        parquet({"src": [1, 2], "dst": ["2", "3"]}),
        "e.parquet, column 'dst': holds strings, but the ids of e.parquet, column"
        " 'src' are integers; store both the same way.",
        edges_name="e.parquet",
    ),
    Case(
        "mixed id types in two files",
        "n.csv, line 3, column 'id': must be an integer like the ids of e.parquet, got"
        " '02'.",
        edges=parquet(INTEGERS),
        edges_name="e.parquet",
        nodes="id,y\n1,p\n02,q\n3,p\n",
    ),
    Case(
        "edge to a missing node",
        "e.csv, line 3, column 'dst': 'z' is not an id of n.csv.",
        edges="src,dst\na,b\nb,z\n",
    ),
    edge_case(
        "negative weight",
        "src,dst,weight\na,b,1\nb,c,-3\n",
        "e.csv, line 3, column 'weight': must be a number from 0 to 1e+30, got '-3'.",
    ),
    edge_case(
        "NaN weight",
        parquet({**INTEGERS, "weight": [1.0, np.nan]}),
        "e.parquet, row 1, column 'weight': must be a number from 0 to 1e+30, got nan.",
        edges_name="e.parquet",
    ),
    edge_case(
        "infinite weight",
        "src,dst,weight\na,b,inf\n",
        "e.csv, line 2, column 'weight': must be a number from 0 to 1e+30, got 'inf'.",
    ),
    edge_case(
        "weight beyond 32 bits",
        "src,dst,weight\na,b,1e300\n",
        "e.csv, line 2, column 'weight': must be a number from 0 to 1e+30, got"
        " '1e300'.",
    ),
    edge_case(
        "missing weight",
        "src,dst,weight\na,b,1\nb,c,\n",
        "e.csv, line 3, column 'weight': must be a number from 0 to 1e+30, got"
        " nothing.",
    ),
    edge_case(
        "weight that is no number",
        "src,dst,weight\na,b,1\nb,c,heavy\n",
        "e.csv, line 3, column 'weight': must be a number, got 'heavy'.",
    ),
    edge_case(
        "weight of another type",
        parquet({**INTEGERS, "weight": [[1.0], [2.0]]}),
        "e.parquet, column 'weight': must hold numbers, got list<element: double>.",
        edges_name="e.parquet",
    ),
    # Nodes
    node_case(
        "missing node file", None, "n.csv: No such file or directory", error=OSError
    ),
    node_case(
        "node table without ids",
        "name,y\na,p\n",
        "n.csv: no column 'id' for the node ids (`id`); the columns are 'name', 'y'.",
    ),
    node_case(
        "node table without rows", "id,y\n", "n.csv: the node table has no rows."
    ),
    node_case(
        "duplicate node id",
        NODES + "a,4,q\n",
        "n.csv, line 5, column 'id': the id 'a' occurs more than once.",
    ),
    node_case(
        "missing node id",
        "id,y\na,p\n,q\n",
        "n.csv, line 3, column 'id': the id is missing, got nothing.",
    ),
    node_case(
        "label column not found",
        NODES,
        "n.csv: no column 'class' for the label (`label`); the columns are"
        " 'id', 'f', 'y'.",
        options={"label": "class"},
    ),
    node_case(
        "label column not found, and the one that was meant has gaps",
        "id,f,y\na,1,p\nb,2,\nc,3,q\n",
        "n.csv: no column 'class' for the label (`label`); the columns are"
        " 'id', 'f', 'y'.",
        options={"label": "class"},
    ),
    node_case(
        "one class only",
        "id,y\na,p\nb,p\nc,\n",
        "n.csv, column 'y': must hold at least 2 classes, got 'p' in 3 rows.",
    ),
    node_case(
        "all labels missing",
        "id,y\na,\nb,\nc,\n",
        "n.csv, column 'y': must hold at least 2 classes, got no label at all in 3"
        " rows.",
    ),
    node_case(
        "a class for nearly every node",
        "id,y\na,0.5\nb,0.5\nc,\n" + "".join(f"n{k},{k}.25\n" for k in range(50)),
        "n.csv, column 'y': must hold classes, got 51 different values in 52 rows; name"
        " another column as `label`.",
    ),
    node_case(
        "feature column not found",
        NODES,
        "n.csv: no column 'g' for features (`features`); the columns are"
        " 'id', 'f', 'y'.",
        options={"features": ("g",), "label": "y"},
    ),
    node_case(
        "missing feature",
        "id,f,y\na,1,p\nb,,q\nc,3,p\n",
        "n.csv, line 3, column 'f': a value is needed, got nothing; `fill_missing`"
        " mean or zero fills it.",
    ),
    node_case(
        "NaN feature",
        parquet({"id": ["a", "b", "c"], "f": [1.0, 2.0, np.nan], "y": [0, 1, 0]}),
        "n.parquet, row 2, column 'f': a value is needed, got nothing;",
        nodes_name="n.parquet",
    ),
    node_case(
        "infinite feature",
        "id,f,y\na,1,p\nb,-inf,q\nc,3,p\n",
        "n.csv, line 3, column 'f': must be finite, got -inf.",
    ),
    node_case(
        "missing category",
        "id,f,y\na,red,p\nb,,q\nc,blue,p\n",
        "n.csv, line 3, column 'f': a value is needed, got nothing;",
    ),
    node_case(
        "word among numbers",
        "id,f,y\na,1,p\nb,two,q\nc,3,p\n",
        "n.csv, line 3, column 'f': must be a number like other values of the column,"
        " got 'two'; or name the column in `categorical`.",
    ),
    node_case(
        "too many categories",
        "id,f,y\na,u,p\nb,v,q\nc,w,p\n",
        "n.csv, column 'f': 3 different values are more than `max_categories` (2);",
        options={"max_categories": 2, "label": "y"},
    ),
    edge_case(
        "weights with a comma that leaves a doubt",
        "src;dst;weight\na;b;1,500\nb;c;2\n",
        "e.csv, line 2, column 'weight': must be a number, got '1,500'; `decimal` can"
        " be ',', the decimal sign.",
    ),
    edge_case(
        "weights of 0 alone",
        "src,dst,weight\na,b,0\nb,c,0\n",
        "e.csv, column 'weight': must be above 0 in some row, got 0 in all 2.",
    ),
    node_case(
        "vectors of different lengths",
        parquet({"id": ["a", "b", "c"], "f": [[1.0, 2.0], [3.0], [4.0, 5.0]]}),
        "n.parquet, row 1, column 'f': must be 2 numbers like the first row, got 1.",
        nodes_name="n.parquet",
        options={},
    ),
    node_case(
        "bad split",
        "id,y,split\na,p,train\nb,q,holdout\nc,p,\n",
        "n.csv, line 3, column 'split': must be train, val, test or nothing, got"
        " 'holdout'.",
    ),
    node_case(
        "split without label",
        "id,y,split\na,p,train\nb,q,val\nc,,test\n",
        "n.csv, line 4, column 'y': the label is missing, but the split is 'test'.",
    ),
    node_case(
        "multi-label value",
        "id,u,v\na,0,1\nb,1,2\nc,1,1\n",
        "n.csv, line 3, column 'v': must be 0 or 1, got '2'.",
        options={"labels": ("u", "v")},
    ),
    node_case(
        "missing multi-label value",
        "id,u,v\na,0,1\nb,1,\nc,1,1\n",
        "n.csv, line 3, column 'v': must be 0 or 1, got nothing.",
        options={"labels": ("u", "v")},
    ),
    node_case(
        "nodes in an edge format",
        HEADER,
        "n.mtx: cannot use format 'mtx' here; choose one of csv, npz, parquet, tsv.",
        nodes_name="n.mtx",
    ),
    # Parquet
    edge_case(
        "truncated Parquet",
        parquet(INTEGERS)[:-20],
        "e.parquet: the Parquet file is cut short or damaged.",
        edges_name="e.parquet",
    ),
    edge_case(
        "damaged Parquet",
        b"PAR1" + bytes(40) + b"\x10\0\0\0PAR1",
        "e.parquet: the Parquet file is cut short or damaged (",
        edges_name="e.parquet",
    ),
    edge_case(
        "wrong magic bytes",
        b"PAX1" + parquet(INTEGERS)[4:],
        "e.parquet: not a Parquet file; the file begins with b'PAX1' instead of"
        " b'PAR1'.",
        edges_name="e.parquet",
    ),
    edge_case(
        "Parquet of runs",
        lambda: parquet({"src": np.zeros(40_000_000, np.int8)}),
        "134,907 bytes would become 160,000,000 in memory, more than 500 times as many;"
        " if it is meant so, save it without compression and dictionaries.",
        edges_name="e.parquet",
    ),
    *(
        edge_case(
            f"Parquet of one long string, {how}",
            partial(parquet, {"src": texts, "dst": texts}, **options),
            "in memory, more than 500 times as many; if it is meant so, save it",
            edges_name="e.parquet",
        )
        for how, texts, options in (
            ("in a dictionary", LONG, {}),
            ("as a dictionary", LONG.dictionary_encode(), {}),
            ("in lists", pa.array([LONG.to_pylist()]), {}),
            (
                "as its own prefix",
                LONG,
                {
                    "use_dictionary": False,
                    "column_encoding": dict.fromkeys(
                        ("src", "dst"), "DELTA_BYTE_ARRAY"
                    ),
                },
            ),
        )
    ),
    # NPZ
    edge_case(
        "pickle inside NPZ",
        npz(src=np.array([{}, 1], dtype=object), dst=np.array([1, 2])),
        "e.npz, array 'src': holds Python objects (pickle), which are never opened;",
        edges_name="e.npz",
    ),
    edge_case(
        "pickle instead of an array",
        zipped("src.npy", pickle.dumps([1, 2])),
        "e.npz, array 'src': not a NumPy array.",
        edges_name="e.npz",
    ),
    edge_case(
        "pickle called NPZ",
        pickle.dumps({"src": [1]}),
        "e.npz: not an NPZ file; the file begins with b'\\x80\\x04' instead of b'PK'.",
        edges_name="e.npz",
    ),
    edge_case(
        "zip bomb",
        zip_bomb,
        "would become 536,871,040 in memory, more than 500 times as many;",
        edges_name="e.npz",
    ),
    *(
        edge_case(
            f"array of {descr} in shape {shape}",
            array_of(descr, *shape),
            "in memory, more than 500 times as many;",
            edges_name="e.npz",
        )
        for descr, shape in (
            ("<i8", (10**12,)),
            ("|S0", (3 * 10**8,)),
            ("<U0", (3 * 10**8,)),
            ("<f4", (3 * 10**8, 0)),
        )
    ),
    edge_case(
        "array larger than its data",
        array_of("<i8", 1000),
        "e.npz, array 'src': declares shape [1000] of int64, but holds 24 bytes.",
        edges_name="e.npz",
    ),
    edge_case(
        "array that NumPy would not compress so",
        zipped("src.npy", npy(np.arange(3)), zipfile.ZIP_LZMA),
        "e.npz, array 'src': compressed as NumPy never does; save it again.",
        edges_name="e.npz",
    ),
    edge_case(
        "two arrays of one name",
        zipped("src.npy", npy(np.arange(3)), times=2),
        "e.npz: column 'src' occurs more than once.",
        edges_name="e.npz",
    ),
    edge_case(
        "strings with a NUL that Arrow would cut",
        npz(src=np.array(["a", "a\0b"]), dst=np.array(["a", "c"])),
        "e.npz, array 'src': row 1 holds a NUL within a string, 'a\\x00b'.",
        edges_name="e.npz",
    ),
    edge_case(
        "damaged array header",
        zipped("src.npy", npy(np.arange(3)).replace(b"(3,), }", b"(3,,,((")),
        "e.npz, array 'src': not a NumPy array.",
        edges_name="e.npz",
    ),
    edge_case(
        "truncated NPZ",
        npz(src=np.arange(9), dst=np.arange(9))[:200],
        "e.npz: the NPZ file is damaged (",
        edges_name="e.npz",
    ),
    edge_case(
        "NPZ without a key",
        npz(src=np.arange(3)),
        "e.npz: no column 'dst' for the target (`dst`); the columns are 'src'.",
        edges_name="e.npz",
    ),
    edge_case(
        "NPZ of different lengths",
        npz(src=np.arange(3), dst=np.arange(4)),
        "e.npz, array 'dst': must have 3 entries like 'src', got 4.",
        edges_name="e.npz",
    ),
    edge_case(
        "NPZ of too many dimensions",
        npz(src=np.zeros((2, 2, 2), int), dst=np.arange(2)),
        "e.npz, array 'src': must have one entry or one row per table row, got shape"
        " [2, 2, 2].",
        edges_name="e.npz",
    ),
    edge_case(
        "edge_index of a wrong shape",
        npz(edge_index=np.zeros((5, 3), int)),
        "e.npz, column 'edge_index': must have shape [2, E], got",
        edges_name="e.npz",
    ),
    edge_case(
        "complex NPZ",
        npz(src=np.zeros(2, complex), dst=np.arange(2)),
        "e.npz, array 'src': cannot be read as a column of complex128.",
        edges_name="e.npz",
    ),
    # Matrix Market
    edge_case(
        "Matrix Market without banner",
        "3 3 1\n1 2 1\n",
        "e.mtx: not a Matrix Market file; the file begins with b'3 3 1",
        edges_name="e.mtx",
    ),
    edge_case(
        "malformed Matrix Market header",
        "%%MatrixMarket matrix coordinate real\n3 3 0\n",
        "e.mtx, line 1: the header must read '%%MatrixMarket matrix coordinate FIELD"
        " SYMMETRY', got '%%matrixmarket matrix coordinate real'.",
        edges_name="e.mtx",
    ),
    edge_case(
        "dense Matrix Market",
        "%%MatrixMarket matrix array real general\n1 1\n1\n",
        "e.mtx, line 1: the layout must be coordinate, got 'array'.",
        edges_name="e.mtx",
    ),
    edge_case(
        "complex Matrix Market",
        "%%MatrixMarket matrix coordinate complex general\n1 1 0\n",
        "e.mtx, line 1: the field must be pattern or integer or real or double, got"
        " 'complex'.",
        edges_name="e.mtx",
    ),
    edge_case(
        "malformed Matrix Market size",
        HEADER + "% a comment\n3 3\n",
        "e.mtx, line 3: the size must be three integers, got '3 3'.",
        edges_name="e.mtx",
    ),
    edge_case(
        "Matrix Market that is not square",
        HEADER + "3 4 1\n1 2 1\n",
        "e.mtx, line 2: the matrix of a graph must be square, got 3 x 4 with 1"
        " entries.",
        edges_name="e.mtx",
    ),
    edge_case(
        "Matrix Market entry out of range",
        HEADER + "3 3 2\n1 2 1\n\n1 4 1\n",
        "e.mtx, line 5: the column index must be 1 to 3, got 4.",
        edges_name="e.mtx",
    ),
    edge_case(
        "malformed Matrix Market entry",
        HEADER + "3 3 2\n1 2 1\n1 x 1\n",
        "e.mtx, line 4: an entry must be 3 numbers for a real matrix, got '1 x 1'.",
        edges_name="e.mtx",
    ),
    edge_case(
        "Matrix Market entries missing",
        HEADER + "3 3 3\n1 2 1\n1 3 1\n",
        "e.mtx, line 2: declares 3 entries, but 2 follow.",
        edges_name="e.mtx",
    ),
    edge_case(
        "Matrix Market of absurd size",
        HEADER + "999999999999 999999999999 0\n",
        "bytes would become 255,999,999,999,744 in memory, more than 500 times as many;"
        " if it is meant so, leave out nodes without edges.",
        edges_name="e.mtx",
    ),
    edge_case(
        "negative Matrix Market weight",
        HEADER + "3 3 2\n1 2 1\n1 3 -1\n",
        "e.mtx, line 4, column 'weight': must be a number from 0 to 1e+30, got -1.0.",
        edges_name="e.mtx",
    ),
    # GraphML
    edge_case(
        "GraphML with an external entity",
        '<?xml version="1.0"?>\n<!DOCTYPE graphml [<!ENTITY x SYSTEM'
        f' "file:///etc/hostname">]>\n{XML}&x;</graphml>',
        "e.graphml, line 2: holds a document type ('graphml'); files with a DTD or"
        " entities are refused.",
        edges_name="e.graphml",
    ),
    edge_case(
        "GraphML with entities that multiply",
        '<!DOCTYPE g [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>' + XML + "&b;</graphml>",
        "e.graphml, line 1: holds a document type ('g');",
        edges_name="e.graphml",
    ),
    edge_case(
        "malformed XML",
        f"{XML}\n{GRAPH}\n<node id='a'>\n</graph></graphml>",
        "e.graphml, line 4: not well-formed XML (mismatched tag).",
        edges_name="e.graphml",
    ),
    edge_case(
        "other XML",
        "<svg/>",
        "e.graphml, line 1: not GraphML; the file begins with the element 'svg'.",
        edges_name="e.graphml",
    ),
    edge_case(
        "GraphML without a graph",
        f"{XML}</graphml>",
        "e.graphml: the GraphML file holds no graph.",
        edges_name="e.graphml",
    ),
    edge_case(
        "GraphML with two graphs",
        f"{XML}{GRAPH}</graph>\n{GRAPH}</graph></graphml>",
        "e.graphml, line 2: holds a second graph;",
        edges_name="e.graphml",
    ),
    edge_case(
        "GraphML without a direction",
        f"{XML}<graph></graph></graphml>",
        "e.graphml, line 1: `edgedefault` must be 'directed' or 'undirected', got"
        " None.",
        edges_name="e.graphml",
    ),
    edge_case(
        "GraphML with edges of both kinds",
        f"{XML}{GRAPH}<node id='a'/>\n<edge source='a' target='a' directed='false'/>"
        "</graph></graphml>",
        "e.graphml, line 2: the edge differs from the graph's `edgedefault`;",
        edges_name="e.graphml",
    ),
    edge_case(
        "GraphML edge to a missing node",
        f"{XML}{GRAPH}<node id='a'/>\n<edge source='a' target='b'/></graph></graphml>",
        "e.graphml, line 2, column 'dst': 'b' is not an id of e.graphml.",
        edges_name="e.graphml",
    ),
    edge_case(
        "GraphML edge without a target",
        f"{XML}{GRAPH}<node id='a'/>\n<edge source='a'/></graph></graphml>",
        "e.graphml, line 2: the edge has no attribute 'target'.",
        edges_name="e.graphml",
    ),
    edge_case(
        "GraphML value of a wrong type",
        f"{XML}<key id='k' for='edge' attr.name='weight' attr.type='double'/>{GRAPH}"
        "<node id='a'/>\n<edge source='a' target='a'><data key='k'>big</data></edge>"
        "</graph></graphml>",
        "e.graphml, line 2: attribute 'weight' must be double, got 'big'.",
        edges_name="e.graphml",
    ),
    edge_case(
        "GraphML of one long default",
        f"{XML}<key id='k' for='node' attr.name='a'><default>{'x' * 10**5}</default>"
        f"</key>{GRAPH}{NODE * 600}</graph></graphml>",
        "would become 60,004,800 in memory, more than 500 times as many; if it is meant"
        " so, give values in place of defaults.",
        edges_name="e.graphml",
    ),
    edge_case(
        "duplicate GraphML node",
        f"{XML}{GRAPH}<node id='a'/>\n<node id='a'/></graph></graphml>",
        "e.graphml, line 2, column 'id': the id 'a' occurs more than once.",
        edges_name="e.graphml",
    ),
]


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 80
    assert len({case.name for case in CASES}) == len(CASES)


def store(folder: Path, case: Case) -> tuple[Path, Path | None]:
    edges, nodes = folder / case.edges_name, folder / case.nodes_name
    content = case.edges() if callable(case.edges) else case.edges
    for path, given in ((edges, content), (nodes, case.nodes)):
        if given is not None:
            path.write_bytes(given if isinstance(given, bytes) else given.encode())
    wants_nodes = case.nodes is not None or case.name == "missing node file"
    return edges, nodes if wants_nodes else None


def sentence(error: BaseException, folder: Path) -> str:
    """The message without the folder of this test."""
    text = str(error)
    if isinstance(error, OSError) and not isinstance(error, ValueError):
        text = f"{error.filename}: {error.strerror}"
    return text.replace(f"{folder}/", "")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_malformed_input_is_refused_in_one_sentence(case: Case, tmp_path: Path) -> None:
    edges, nodes = store(tmp_path, case)
    before = sorted(tmp_path.iterdir())
    options = FileOptions(**case.options)
    with pytest.raises(case.error) as found:
        read_graph(edges, nodes, options=options)
    told = sentence(found.value, tmp_path)
    assert case.message in told
    assert "\n" not in told and "Traceback" not in told
    assert sorted(tmp_path.iterdir()) == before


CONVERTED = [case for case in CASES if not case.options and case.nodes is None]


@pytest.mark.parametrize("case", CONVERTED, ids=lambda case: case.name)
def test_malformed_input_is_not_converted(case: Case, tmp_path: Path) -> None:
    edges, nodes = store(tmp_path, case)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(case.error):
        convert(edges, nodes, tmp_path / "out.parquet", tmp_path / "out-nodes.csv")
    assert sorted(tmp_path.iterdir()) == before


def test_folder_instead_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "e.csv").mkdir()
    with pytest.raises(ValueError, match=r"e\.csv: the folder holds no Parquet file"):
        read_graph(tmp_path / "e.csv")


@pytest.mark.parametrize("name", ["e.csv", "e.parquet", "e.npz", "e.graphml"])
def test_pipe_instead_of_a_file_is_refused(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(ValueError, match="must be a file, not a pipe or a device"):
        read_graph(tmp_path / name)


def test_table_of_too_many_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    path.write_text(",".join(map(str, range(100_001))) + "\n")
    with pytest.raises(ValueError, match="100,001 columns are more than a table may"):
        read_graph(tmp_path / "n.csv")


TEXTS = ["{", "[1]", "true", "1.5", "", "9" * 20, "[" * 10**5]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_malformed_id_comment_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "e.mtx"
    path.write_text(f"{HEADER}% sgat node id: {text}\n1 1 0\n")
    with pytest.raises(ValueError, match="line 2: a node id must be an integer or"):
        read_graph(path)


def test_a_parquet_string_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path, ends = (
        tmp_path / "e.parquet",
        pa.array([b"a", b"b", b"\xff\xfe"], pa.binary()),
    )
    broken = pa.Array.from_buffers(pa.string(), 3, ends.buffers())
    table = pa.table({"src": broken, "dst": ["b", "c", "a"]})
    pyarrow.parquet.write_table(table, path)
    with pytest.raises(ValueError, match=r"e\.parquet: .*Invalid UTF8 sequence"):
        read_graph(path)


@pytest.mark.parametrize("is_plain", [True, False])
def test_an_encrypted_parquet_file_is_refused(is_plain: bool, tmp_path: Path) -> None:
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(encryption.KmsClient):  # type: ignore[misc, name-defined]
        def __init__(self, config: Any) -> None:
            super().__init__()

        def wrap_key(self, key: bytes, name: str) -> bytes:
            return base64.b64encode(key)

    factory = encryption.CryptoFactory(Keys)
    how = encryption.EncryptionConfiguration(
        footer_key="k", column_keys={"c": ["src"]}, plaintext_footer=is_plain
    )
    secret = factory.file_encryption_properties(encryption.KmsConnectionConfig(), how)
    path, table = tmp_path / "e.parquet", pa.table({"src": [1, 2], "dst": [2, 1]})
    pyarrow.parquet.write_table(table, path, encryption_properties=secret)
    with pytest.raises(ValueError, match=r"Parquet file is cut|not a Parquet file"):
        read_graph(path)


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_what_follows_a_compressed_table_is_not_dropped(
    suffix: str, tmp_path: Path
) -> None:
    path, text = tmp_path / f"e.csv.{suffix}", b"src,dst\n" + b"a,b\nb,c\n" * 99
    with pa.output_stream(str(path)) as file:
        file.write(text)
    content = path.read_bytes()
    for more in (b"garbage", bytes(512), content[: len(content) // 2]):
        path.write_bytes(content + more)
        with pytest.raises(ValueError, match="or one that is cut short"):
            read_graph(path)
