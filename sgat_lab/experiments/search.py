"""Search: settings for every row and data set, chosen by validation alone.

Every method gets the same budget on a data set: the settings its row starts from and
some drawn from the same space, each trained with the same seeds, none of which a table
uses. The best few are trained with more seeds, and the best mean validation score wins,
the earlier setting among equals. Test scores are in the records, as always, and are not
looked at here. Random and fixed splits are searched apart, and so are graphs with as
many edges added between classes as there are, which have no such final but for
`FURTHER`.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Mapping
from typing import Any, NamedTuple

from sgat_lab.experiments import heterophily, robustness, table2, table3
from sgat_lab.tables.method_table import TOP_K
from sgat_lab.trials.options import Options
from sgat_lab.trials.row_settings import chosen_name, settings, unsearched
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task

TRIALS = 10
"""Settings drawn for a row, besides those it starts from."""
TRIALS_LARGE = 4
"""The same on the graphs of `LARGE`, and with edges added."""
LARGE = ("pubmed", "computers", "photo")
SEEDS = (100, 101)
SEEDS_TINY = (100, 101, 102)
"""Seeds on the graphs of `TINY`, where 40 to 80 nodes judge a training."""
TINY = ("texas", "wisconsin", "cornell")
SEEDS_DRAWN = (100, 101, 102, 103)
"""Seeds on the graphs of `DRAWN`, where a seed also draws which few nodes are known, so
that scores differ more between seeds than between settings."""
DRAWN = ("computers", "photo")
FINALISTS = 2
"""Settings of a row that are trained with `SEEDS_FINAL` before one is chosen: scores
differ more between seeds, or splits, than between good settings."""
SEEDS_FINAL = tuple(range(100, 110))
SHARED: Mapping[str, tuple[Any, ...]] = {
    "model.hidden": (16, 32, 64),
    "model.dropout": (0.2, 0.5, 0.8),
    "train.weight_decay": (5e-4, 5e-3, 5e-2),
}
"""Entries searched for every method; attention heads share `hidden`."""
ATTENTION: Mapping[str, tuple[Any, ...]] = {"model.attention_dropout": (0.0, 0.3, 0.6)}
"""Further entries of methods that weigh edges."""
OWN: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "sgat": {**ATTENTION, "train.l0_weight": (0.01, 0.3, 3.0)},
    "gat": ATTENTION,
    "residual_gat": ATTENTION,
    "dropedge": {"options.rate": (0.2, 0.5, 0.8)},
    "bayesian_dropedge": {"options.prior": (0.5, 0.8, 0.95)},
    "ptdnet": {"options.open_weight": (0.01, 0.1, 1.0)},
    "neuralsparse": {"options.k": (2, 5, 10)},
    "supergat": {**ATTENTION, "options.edge_loss": (0.1, 1.0, 4.0)},
    "sparsified": {"options.keep": (0.3, 0.6, 0.9)},
    "lagcn": {"options.threshold": (0.3, 0.5, 0.7)},
    "gcn_jaccard": {"options.threshold": (0.0, 0.02, 0.05)},
}
"""Entries of its own for each method that has any that matter. That of SGAT is λ
times the number of edges, so that it means the same on every graph."""
FURTHER: Mapping[str, tuple[dict[str, Any], ...]] = {
    "gcn_jaccard": tuple(
        {"options.threshold": value} for value in (0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0)
    )
}
"""Settings tried besides those drawn, on the graphs of `robustness`, with a final on
noisy ones as well. What goes at a threshold differs from graph to graph, and few of the
drawn settings would try each. At 1 no edge is left."""
LIKE = {"sgat-recommended": "mlp"}
"""Rows that try the settings of another method. Gates by evidence have no price to
find. Without edges the recommended row is an MLP: the luck of the draw must not make a
difference between the two."""
EDGES = {
    **{"cora": 10_556, "citeseer": 9_104, "pubmed": 88_648, "computers": 491_722},
    **{"photo": 238_162, "actor": 53_318, "texas": 558, "wisconsin": 900},
    "cornell": 554,
}
"""Edges of each data set, both directions, without loops."""
NOISY = {chosen_name(data, None, noisy=True): data for data in robustness.DATA}
"""The data sets that are searched with edges added as well, by the name of that."""


class DataVariant(NamedTuple):
    """A data set under a protocol, or with edges added; each has its own choice."""

    data: str
    split: str | None
    is_noisy: bool = False

    @property
    def name(self) -> str:
        """Its name in the file of choices."""
        return chosen_name(self.data, self.split, noisy=self.is_noisy)

    def has_final(self, row: str) -> bool:
        """Whether the best settings of a row are trained with more seeds."""
        return not self.is_noisy or _method(row) in FURTHER


NOISE = ("cross-class", 1.0)
"""The edges added where settings for noisy graphs are chosen."""


def names() -> list[str]:
    """Rows and data sets that `Options.only` may name."""
    return [*_rows(), *EDGES, *NOISY]


def _rows() -> list[str]:
    rows = dict.fromkeys([*table2.ROWS, *table3.ROWS, *robustness.ROWS])
    return [row for row in rows if not row.startswith(TOP_K)]


def _variants(options: Options) -> list[DataVariant]:
    variants = []
    for name in options.chosen([*EDGES, *NOISY]):
        if name in NOISY:
            variants.append(DataVariant(NOISY[name], None, is_noisy=True))
        else:
            splits = table3.PROTOCOLS if name in table3.DATA else (None,)
            variants += [DataVariant(name, split) for split in splits]
    return variants


def _rows_of(variant: DataVariant, options: Options) -> list[str]:
    if variant.is_noisy:
        wanted = [row for row in robustness.ROWS if row != robustness.DEAF]
    elif variant.data in table3.DATA:
        wanted = [*table3.ROWS, *heterophily.ROWS]
    elif variant.data in robustness.DATA:
        wanted = [*table2.ROWS, *robustness.ROWS]
    else:
        wanted = [*table2.ROWS]
    return [row for row in options.chosen(_rows()) if row in wanted]


def space(method: str) -> dict[str, tuple[Any, ...]]:
    """All entries that are searched for a method."""
    return {**SHARED, **OWN.get(method, {})}


def drawn(method: str) -> list[dict[str, Any]]:
    """The settings to try, the same at every call.

    Every value of an entry is tried about equally often, so that none is left out by
    chance; which values meet is drawn. A setting that comes twice is drawn again, so
    that all methods try as many.
    """
    generator = random.Random(f"sgat search {method}")
    columns = {}
    for name, values in space(method).items():
        column = [values[k % len(values)] for k in range(TRIALS)]
        generator.shuffle(column)
        columns[name] = column
    found: list[dict[str, Any]] = []
    for trial in range(TRIALS):
        setting = {name: column[trial] for name, column in columns.items()}
        while setting in found:
            setting = {
                name: generator.choice(column) for name, column in columns.items()
            }
        found.append(setting)
    return found


def plan(options: Options, store: Store) -> list[Task]:
    """Every setting of every row on every data set, and those that come to a final."""
    return [
        task
        for variant in _variants(options)
        for row in _rows_of(variant, options)
        for tried, seeds in (
            (_settings(row, variant, options), _seeds(variant, options)),
            (_finalists(row, variant, options, store), SEEDS_FINAL),
        )
        for setting in tried
        for task in _tasks(row, variant, setting, seeds, options)
    ]


def _settings(row: str, variant: DataVariant, options: Options) -> list[dict[str, Any]]:
    """Settings to try: those a row starts from, then those drawn."""
    is_short = variant.is_noisy or variant.data in LARGE
    trials = TRIALS_LARGE if is_short else TRIALS
    method = _method(row)
    further = FURTHER.get(method, ()) if variant.data in robustness.DATA else ()
    number, more = (1, 0) if options.quick else (trials, len(further))
    return [{}, *drawn(method)[:number], *further[:more]]


def _method(row: str) -> str:
    """The method whose settings a row tries."""
    return LIKE.get(row) or settings(row, "cora").model.method


def _seeds(variant: DataVariant, options: Options) -> tuple[int, ...]:
    """Seeds that every setting is trained with."""
    found: tuple[int, ...] = SEEDS
    if variant.data in TINY:
        found = SEEDS_TINY
    elif variant.data in DRAWN and not variant.is_noisy:
        found = SEEDS_DRAWN
    return found[:1] if options.quick else found


def _finalists(
    row: str, variant: DataVariant, options: Options, store: Store
) -> list[dict[str, Any]]:
    """The best settings, if there is a final for them and all settings were tried."""
    if options.quick or not variant.has_final(row):
        return []
    tried = _settings(row, variant, options)
    scores = _scores(row, variant, tried, _seeds(variant, options), options, store)
    if None in scores:
        return []
    order = sorted(range(len(tried)), key=lambda k: scores[k] or 0.0, reverse=True)
    # In the order in which they were tried: the earlier one wins among equals.
    return [tried[k] for k in sorted(order[:FINALISTS])]


def _tasks(
    row: str,
    variant: DataVariant,
    setting: dict[str, Any],
    seeds: tuple[int, ...],
    options: Options,
) -> list[Task]:
    tasks = []
    for seed in seeds:
        config = unsearched(row, variant.data, variant.split, seed)
        changes = changed(row, variant.data, setting)
        own = {**config.model.options, **changes["model"].pop("options", {})}
        changes["model"]["options"] = own
        noise = NOISE if variant.is_noisy else None
        tasks.append(Task(row, options.applied(config.replace(**changes)), noise))
    return tasks


def changed(row: str, data: str, setting: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A setting as entries of a config's sections."""
    sections: dict[str, dict[str, Any]] = {"model": {}, "train": {}}
    heads = settings(row, data).model.heads if _has_heads(row) else 1
    for name, value in setting.items():
        section, entry = name.split(".")
        if section == "options":
            sections["model"].setdefault("options", {})[entry] = value
        elif entry == "l0_weight":
            # A row that is asked for a share finds its price by itself.
            if unsearched(row, data).train.keep is None:
                sections["train"]["l0_weight"] = value / EDGES[data]
        elif entry == "hidden":
            sections["model"]["hidden"] = max(value // heads, 1)
        else:
            sections[section][entry] = value
    return sections


def _has_heads(row: str) -> bool:
    return "gat" in settings(row, "cora").model.method


def chosen(
    options: Options, store: Store
) -> dict[tuple[str, DataVariant], dict[str, Any]]:
    """The best setting of each row in each variant, once all of them were tried."""
    best: dict[tuple[str, DataVariant], dict[str, Any]] = {}
    for variant in _variants(options):
        for row in _rows_of(variant, options):
            tried, seeds = _settings(row, variant, options), _seeds(variant, options)
            if variant.has_final(row) and not options.quick:
                tried, seeds = _finalists(row, variant, options, store), SEEDS_FINAL
            scores = _scores(row, variant, tried, seeds, options, store)
            known = [score for score in scores if score is not None]
            if tried and len(known) == len(tried):
                best[row, variant] = tried[known.index(max(known))]
    return best


def _scores(
    row: str,
    variant: DataVariant,
    tried: list[dict[str, Any]],
    seeds: tuple[int, ...],
    options: Options,
    store: Store,
) -> list[float | None]:
    """Mean validation score of each setting; None as long as a run is missing."""
    found: list[float | None] = []
    for setting in tried:
        tasks = _tasks(row, variant, setting, seeds, options)
        records = [record for task in tasks if (record := store.find(task))]
        is_complete = len(records) == len(tasks)
        values = [record.val or 0.0 for record in records]
        found.append(statistics.fmean(values) if is_complete else None)
    return found


def text(options: Options, store: Store, *, markdown: bool = False) -> str:
    """The chosen settings as TOML: the content of `configs/methods/_chosen.toml`."""
    lines = [
        "# Chosen by validation: `sgat-lab search`. Space and budget are in",
        "# sgat_lab/experiments/search.py. These come on top of the rows' own files.",
        "# An empty table says that the settings of the row's own file were best.",
    ]
    for (row, variant), setting in chosen(options, store).items():
        lines += ["", f'["{row}"."{variant.name}"]']
        for section, entries in changed(row, variant.data, setting).items():
            for name, value in entries.items():
                lines += [f"{section}.{_dotted(name, value)}"]
    return "\n".join(lines) + "\n"


def _dotted(name: str, value: Any) -> str:
    if isinstance(value, dict):
        ((inner, content),) = value.items()
        return f"{name}.{inner} = {content}"
    return f"{name} = {value}"
