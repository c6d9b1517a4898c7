"""Files made by a grammar: tables, graphs and settings that are nearly right.

Each case is a function of its seed. `run` reads it, and where that works, checks what
was read, writes it in another format and reads it again.
"""

import contextlib
import dataclasses
import functools
import io
import json
import random
import resource
import shutil
import signal
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import torch

from sgat.config import Config, FileOptions
from sgat.data.files import read_graph, write_graph
from sgat.data.node_data import check, check_features
from sgat.data.split_names import read_split
from sgat.pruning.stored_table import open_table

FORMATS = ("csv", "tsv", "parquet", "npz", "mtx", "graphml")
SECONDS, MEMORY = 10, 1 << 30
"""Processor time of a case, and memory beyond what was used before."""

WORDS = [
    *("a", "b", "n1", "ä", "x y", "", " ", "NA", "nan", "None", "true", "0", "1", "-1"),
    *("007", "1.0", "1e5", "1e400", "-0", "+1", "inf", "9" * 25, "2024-01-31", "0x1f"),
    *('say "hi"', "a,b", "a;b", "line\nbreak", "tab\there", "\r", "\0", "a\0b", "🦊"),
    *("<b>", "&amp;", "]]>", "%", "% sgat node id: 1", "\ufeff", "=1+1", "\x1b[31m"),
    *("train", "val", "test", "x" * 300, "\u202e", "'", "1_000", "١", "1d3"),
]
NUMBERS = [
    *(0, 1, -1, 2, 3, 0.5, -0.0, 1e-42, 1e-300, 1e15, 1e16, 3e38, 1e300, 2**31, 2**53),
    *(2**63 - 1, float("inf"), float("nan"), 1e-30, 1e30, 1e31, None),
]
NAMES = [
    "src",
    "dst",
    "weight",
    "id",
    "y",
    "split",
    "f",
    "g",
    "h",
    "",
    "src ",
    "é",
    "a\nb",
]


class Broken(Exception):
    """A case that ended in neither a graph nor a sentence."""


@dataclasses.dataclass
class Made:
    """Draws the parts of a case."""

    draw: random.Random

    def one(self, *choices: Any) -> Any:
        return self.draw.choice(choices)

    def odd(self, share: float) -> bool:
        return self.draw.random() < share

    def values(self, size: int) -> tuple[str, list[Any]]:
        """The cells of a column, mostly of one kind, and the kind."""
        kinds = [
            "int",
            "int",
            "int",
            "float",
            "class",
            "class",
            "word",
            "any",
            "bool",
            "date",
            "near",
            "near",
        ]
        kind = self.draw.choice(kinds)
        draws: dict[str, Callable[[], Any]] = {
            "near": lambda: self.draw.gauss(0, 1),
            "int": lambda: self.draw.randrange(-2, 9),
            "float": lambda: self.draw.choice(NUMBERS),
            "word": lambda: self.draw.choice(WORDS),
            "class": lambda: self.one("p", "q"),
            "any": lambda: self.draw.choice(WORDS + NUMBERS),
            "bool": lambda: self.odd(0.5),
            "date": lambda: self.one("2024-01-31", "2023-12-01", None),
        }
        found = [draws[kind]() for _ in range(size)]
        if self.odd(0.1) and found:
            found[self.draw.randrange(size)] = self.draw.choice([*WORDS, *NUMBERS])
        return kind, found

    @functools.cached_property
    def known(self) -> list[Any]:
        """The ids of the nodes of a case."""
        return self.ids(self.draw.randrange(1, 12))

    def ids(self, size: int) -> list[Any]:
        form = self.one(int, int, str, "n{}".format, "{:03}".format)
        return [form(number) for number in range(size)]

    def columns(self, kind: str) -> dict[str, list[Any]]:
        """The columns of an edge table or a node table."""
        size = self.one(0, 1, 2, 5, 7, 30, 300 if self.odd(0.1) else 11)
        ids = self.known if self.odd(0.95) else self.ids(7)
        if kind == "nodes":
            table: dict[str, list[Any]] = {"id": ids}
            size = len(ids)
            if self.odd(0.6):
                table["y"] = [self.one("p", "q", "q") for _ in ids]
            if self.odd(0.3):
                table["split"] = [self.one("train", "val", "test", None) for _ in ids]
        else:
            table = {end: [self.draw.choice(ids) for _ in range(size)] for end in ENDS}
            if self.odd(0.3):
                table["weight"] = [self.one(0, 0.5, 1, 2, 1e-39) for _ in range(size)]
        for _ in range(self.one(0, 1, 1, 2, 4)):
            names = NAMES if self.odd(0.1) else ["f", "g", "h"]
            table[self.draw.choice(names)] = self.values(size)[1]
        if self.odd(0.05):
            del table[self.draw.choice(list(table))]
        return table

    def text(self, table: dict[str, list[Any]], between: str) -> str:
        """A text table, with the faults that text tables have."""
        quote = self.one("", '"', '"')

        def cell(value: Any) -> str:
            text = "" if value is None else str(value)
            if quote and (self.odd(0.1) or set(text) & set('",;\t\r\n')):
                return (
                    quote + text.replace('"', self.one('""', '""', '""', '"')) + quote
                )
            return text

        rows = [list(table), *zip(*table.values(), strict=False)]
        lines = [between.join(map(cell, row)) for row in rows]
        if self.odd(0.05) and lines:
            lines[self.draw.randrange(len(lines))] += self.one(between, '"', "\n\n")
        end = self.one("\n", "\n", "\r\n")
        return self.one("", "", "", "\ufeff") + end.join(lines) + self.one(end, "")

    def typed(self, values: list[Any]) -> Any:
        """An Arrow column, of any type that holds the values."""
        try:
            column = pa.array(values)
        except (pa.ArrowException, TypeError, OverflowError):
            column = pa.array([None if v is None else str(v) for v in values])
        kind = self.one(
            *[None] * 40,
            *(pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.decimal128(9, 2)),
            *(
                pa.large_string(),
                pa.string_view(),
                pa.binary(),
                pa.date32(),
                pa.bool_(),
            ),
            *(pa.timestamp("us"), pa.null(), pa.dictionary(pa.int8(), pa.string())),
            *(
                pa.list_(pa.float32()),
                pa.list_(pa.int64(), 2),
                "struct",
                "long",
                "list",
            ),
        )
        size = len(values)
        if kind == "struct":
            return pa.array([{"a": 1}] * size)
        if kind == "list":
            return pa.array([[1.0] * self.one(2, 2, 2, 3) for _ in range(size)])
        if kind == "long":
            long = pa.array(["x" * self.one(10, 10**5)])
            repeated = pa.DictionaryArray.from_arrays(np.zeros(size, np.int32), long)
            return (
                repeated if size > 40 or self.odd(0.5) else repeated.cast(pa.string())
            )
        try:
            return column if kind is None else column.cast(kind)
        except (pa.ArrowException, NotImplementedError):
            return column

    def parquet(self, table: dict[str, list[Any]], path: Path) -> None:
        columns = [self.typed(values) for values in table.values()]
        length = min(map(len, columns), default=0)
        if self.odd(0.001):
            length = 3 * 10**6
            columns = [pa.array(np.zeros(length, np.int64))] * len(columns)
        made = pa.table([c[:length] for c in columns], names=list(table))
        options: dict[str, Any] = {"compression": self.one("zstd", "snappy", "none")}
        if self.odd(0.3):
            options |= {"use_dictionary": False, "column_encoding": {}}
            for field in made.schema:
                if pa.types.is_string(field.type):
                    encoding = self.one("DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY")
                    options["column_encoding"][field.name] = encoding
        if self.odd(0.2):
            options["row_group_size"] = max(3, length // 99)
        try:
            pyarrow.parquet.write_table(made, path, **options)
        except (pa.ArrowException, NotImplementedError, OSError):
            pyarrow.parquet.write_table(pa.table({"src": [1], "dst": [2]}), path)

    def array(self, values: list[Any]) -> Any:
        array = np.array(values)
        kind = self.one(*[None] * 40, *DTYPES)
        if kind is not None:
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    array = array.astype(kind)
            except (ValueError, TypeError, OverflowError):
                pass
        if self.odd(0.1):
            shape = self.one((0,), (), (2, -1), (-1, 1), (1, 1, -1), (-1, 0))
            try:
                array = array.reshape(shape)
            except ValueError:
                array = np.zeros([max(side, 0) for side in shape])
        return np.asfortranarray(array) if self.odd(0.2) else array

    def npz(self, table: dict[str, list[Any]], path: Path) -> None:
        with zipfile.ZipFile(path, "w", self.one(0, 8, 8, 12, 14)) as archive:
            arrays = {name: self.array(values) for name, values in table.items()}
            if self.odd(0.2):
                arrays = {"edge_index": np.array([[0, 1], [1, 0]])} | arrays
            if self.odd(0.1):
                arrays[f"missing/{self.draw.choice(NAMES)}"] = np.array([True, False])
            for name, array in arrays.items():
                buffer = io.BytesIO()
                if self.odd(0.05):
                    size = self.one(3, 10**8, 10**12, -1)
                    dtype = self.one("<i8", "|S0", "<U0", "|b1", "<f4", "|V0")
                    head = {"descr": dtype, "fortran_order": False, "shape": (size,)}
                    np.lib.format.write_array_header_1_0(buffer, head)
                else:
                    np.lib.format.write_array(buffer, array, allow_pickle=True)
                entry = f"{name}{self.one('.npy', '.npy', '')}" or "x"
                archive.writestr(entry, buffer.getvalue())

    def mtx(self) -> str:
        field = self.one("real", "integer", "pattern", "double", "complex")
        size = self.one(0, 1, 4, 9, 10**5, 10**9, 10**20, -1)
        entries = self.one(0, 1, 3, 7)
        head = f"%%MatrixMarket matrix {self.one(*['coordinate'] * 5, 'array')} {field}"
        lines = [f"{head} {self.one('general', 'symmetric', 'skew-symmetric')}"]
        for number in range(self.one(0, 0, min(max(size, 0), 9))):
            name = json.dumps(self.one(number, str(number), "x", [number], 2**70))
            lines.append(f"% sgat node id: {self.one(name, name, '[' * 9**5)}")
        lines.append(f"{size} {self.one(size, size, size, 3)} {entries}")
        for _ in range(self.one(entries, entries, entries, 2)):
            ends = [self.draw.randrange(1, max(min(size, 9), 1) + 1) for _ in "ij"]
            value = self.one(
                "1", "0.5", "-1", "1e-39", "3e38", "nan", "1d3", "x", "2 2"
            )
            lines.append(
                f"{ends[0]} {ends[1]}" + ("" if field == "pattern" else f" {value}")
            )
        return "\n".join(lines) + self.one("\n", "")

    def graphml(self) -> str:
        def quoted(text: Any) -> str:
            text = str(text).replace("&", "&amp;").replace("<", "&lt;")
            return text.replace('"', "&quot;") if self.odd(0.98) else text

        keys, parts = [], [self.one("", "", "<?xml version='1.0'?>", "<!DOCTYPE a []>")]
        parts.append("<graphml>")
        for number in range(self.one(0, 1, 2, 3)):
            kind = self.one(
                "int", "long", "float", "double", "string", "boolean", "any"
            )
            name, of = self.draw.choice(NAMES), self.one("node", "edge", "all", "graph")
            default = f"<default>{quoted(self.draw.choice(WORDS))}</default>"
            if self.odd(0.05):
                default = f"<default>{'d' * 10**6}</default>"
            head = f'<key id="k{number}" for="{of}" attr.name="{quoted(name)}"'
            parts.append(f'{head} attr.type="{kind}">{self.one("", default)}</key>')
            keys.append(f"k{number}")
        default = self.one("directed", "undirected", "undirected", "x")
        parts.append(f'<graph edgedefault="{default}">')
        ids = self.ids(self.one(0, 1, 4, 40))

        def data() -> str:
            some = [key for key in keys if self.odd(0.5)]
            cells = [quoted(self.draw.choice(WORDS + NUMBERS)) for _ in some]
            pairs = zip(some, cells, strict=True)
            return "".join(f'<data key="{key}">{cell}</data>' for key, cell in pairs)

        parts += [f'<node id="{quoted(name)}">{data()}</node>' for name in ids]
        for _ in range(self.one(0, 1, 5)):
            ends = [quoted(self.one(*ids[:9], "a")) for _ in ENDS]
            parts.append(f'<edge source="{ends[0]}" target="{ends[1]}">{data()}</edge>')
        parts += self.one([], [], [], ["<hyperedge/>"], ["<graph/>"], ["<node/>"])
        return "".join([*parts, "</graph></graphml>"])

    def file(self, folder: Path, kind: str, formats: tuple[str, ...]) -> Path:
        """A file with a table or a graph, sometimes damaged."""
        format = self.one(*formats)
        path, table = folder / f"{kind}.{format}", self.columns(kind)
        if format == "parquet":
            self.parquet(table, path)
        elif format == "npz":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of names that occur twice
                self.npz(table, path)
        else:
            makers = {"mtx": self.mtx, "graphml": self.graphml}
            make = makers.get(format)
            between = {"csv": self.one(",", ",", ",", ";"), "tsv": "\t"}.get(
                format, ","
            )
            text = make() if make else self.text(table, between)
            coding = self.one(*["utf-8"] * 9, "utf-16", "latin-1")
            path.write_bytes(text.encode(coding, errors="replace"))
        if self.odd(0.15):
            content = bytearray(path.read_bytes())
            for _ in range(self.one(1, 2, 5)):
                if content:
                    place = self.draw.randrange(len(content))
                    content[place : place + self.one(0, 1, 4)] = self.draw.randbytes(
                        self.one(0, 1, 4)
                    )
            path.write_bytes(
                content[: self.one(len(content), self.draw.randrange(2000))]
            )
        return path

    def options(self) -> FileOptions:
        found: dict[str, Any] = {
            "label": self.one(None, "y", "y"),
            "fill_missing": self.one(None, "mean", "zero"),
            "standardise": self.odd(0.3),
            "undirected": self.odd(0.3),
            "unknown_category": self.one("refuse", "zero"),
            "drop": self.one((), (), ("f",), ("g", "h")),
            "categorical": self.one((), (), ("f",), ("f", "g", "h")),
        }
        if self.odd(0.15):
            found[self.one("label", "weight", "split_column")] = self.one("f", "g", "h")
        if self.odd(0.1):
            found |= {"label": None, "labels": self.one(("f",), ("f", "g"))}
        return FileOptions(**found)

    def toml(self) -> str:
        def value(depth: int = 0) -> str:
            if depth < 3 and self.odd(0.2):
                items = [value(depth + 1) for _ in range(self.one(0, 1, 3))]
                return self.one(f"[{', '.join(items)}]", "{" + f"a = {value(3)}" + "}")
            word = json.dumps(self.draw.choice(WORDS))
            number = str(self.one(0, 1, -1, 0.5, 10**8, 10**30, "1e400", "nan", "true"))
            return self.one(word, number, "1979-05-27", "[" * self.one(1, 5 * 10**4))

        lines = []
        for _ in range(self.one(0, 1, 3, 6)):
            if self.odd(0.4):
                lines.append(
                    f"[{self.one('data', 'model', 'train', 'data.files', 'x')}]"
                )
            name = self.one(*SETTINGS, "x", '"a b"', "files.src", "model.hidden")
            lines.append(f"{name} = {value()}")
        return "\n".join(lines)


ENDS = ("src", "dst")
DTYPES = (
    "i1",
    ">i8",
    "u8",
    "f2",
    ">f4",
    "c8",
    "S3",
    "S0",
    "U3",
    "O",
    "M8[s]",
    "V4",
    "?",
)
SETTINGS = tuple(
    name for part in vars(Config()).values() for name in type(part).declared()
)


def make_and_read(seed: int, folder: Path) -> str:
    """Make the files of a case and read them; the outcome in a word or a sentence."""
    made = Made(random.Random(seed))
    kind = made.one(*["graph"] * 8, "settings", "table", "split")
    try:
        if kind == "settings":
            path = folder / "c.toml"
            path.write_text(made.toml(), encoding="utf-8")
            config = Config.from_toml(path)
            path.write_text(config.to_toml(), encoding="utf-8")
            assert Config.from_toml(path) == config
        elif kind == "table":
            open_table(made.file(folder, "edges", FORMATS[:4]))
        elif kind == "split":
            read_split(made.file(folder, "nodes", ("npz",)), [])
        else:
            edges = made.file(folder, "edges", FORMATS)
            nodes = made.file(folder, "nodes", FORMATS[:4]) if made.odd(0.6) else None
            _check_graph(made, edges, nodes, folder)
    except ValueError as error:
        told = str(error)
        if not told or "\n" in told:
            raise Broken(f"no sentence: {told!r}") from error
        return f"{kind}: refused"
    except OSError as error:
        if error.filename is None:
            raise
        return f"{kind}: refused"
    return f"{kind}: read"


def _check_graph(made: Made, edges: Path, nodes: Path | None, folder: Path) -> None:
    options = made.options()
    found = read_graph(edges, nodes, options=options)
    data = found.data
    check_features(data)
    assert len(data.node_ids) == data.num_nodes == len(set(data.node_ids.tolist()))
    most = 2 if data.is_multilabel else max(data.num_classes, 1)
    assert bool((data.y < most).all())
    if data.num_classes and bool(data.train.any()):
        with contextlib.suppress(ValueError):
            check([data])
    format = made.one(*FORMATS)
    path, other = folder / f"again.{format}", folder / "again-nodes.parquet"
    try:
        write_graph(found, path, nodes=other)
    except ValueError:
        assert not path.exists() and not other.exists()
        return
    told = {"delimiter": None, "undirected": found.undirected}
    again = read_graph(path, other, options=dataclasses.replace(options, **told))
    assert again.data.node_ids.tolist() == data.node_ids.tolist(), "ids changed"
    assert torch.equal(again.data.graph.edge_index, data.graph.edge_index)


def run(seed: int, folder: Path) -> str:
    """Read one case within limits; see `make_and_read`."""
    return within_limits(lambda: make_and_read(seed, folder), folder)


def within_limits(work: Callable[[], str], folder: Path) -> str:
    """Do one case within limits of time and memory, and empty its folder."""

    def too_long(*_: Any) -> None:
        raise Broken(f"more than {SECONDS} s")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    handler = signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            outcome = work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
        for file in folder.iterdir():
            shutil.rmtree(file) if file.is_dir() else file.unlink()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if grown * (1 if sys.platform == "darwin" else 1024) > MEMORY:
        raise Broken(f"{grown} KiB more memory")
    return outcome
