"""The relational expression: one SQL text that DuckDB and Spark both run.

    given       the user's rows, columns c0, c1, …
    nodes       id, node (its number), graph where there are several; s, t, and q0, k0,
                q1, k1 … where scores are made of numbers per node
    matched     given joined with the nodes of both ends: src, dst as numbers, log_alpha
    gated       of these the rows that have a gate: both ends known, and no loop
    pairs       node numbers low < high between which rows go both ways, with the score
                of both
    scored      rows with the score that decides and the key of their edge
    guaranteed  keys of edges that stay whatever their score, with the reason
    judged      scored rows with the reason why they stay or go

Rows that name the same edge share its key and stay or go as one. Keys are dst · N + src
of node numbers, and low · N + high where both directions are one; of equal scores the
lower key is better. This is the order of `sgat.Graph`, so the same edges are chosen
as in memory. All names are ours, so no name of a user has to be quoted; all sums are of
float32, as in the model. Products of vectors are summed in double precision and a fixed
order, so that both engines and both directions have the same bits.

Tested in tests/pruning/test_prune_table.py.
"""

import dataclasses
from collections.abc import Collection

from sgat.config.pruning import Combination
from sgat.gates import HardConcrete
from sgat.pruning.choice import Reason
from sgat.pruning.stored_table import Kind

LARGEST_EXPONENT = 80
"""Where exponents are cut: beyond it a sigmoid is 0 or 1 in float32."""
COMBINATIONS: dict[Combination, str] = {
    "max": "GREATEST({0}, {1})",
    "min": "LEAST({0}, {1})",
    "mean": "({0} + {1}) * CAST(5E-1 AS FLOAT)",
}
LOSSY = {
    **dict.fromkeys(("%n%", "%N%", "% %", "+%", ".%", "-.%", "%."), ""),
    **{"%.%0": "%_.0", "0_%": "0.%", "-0_%": "-0.%"},
}
"""Patterns of text that loses something as a number, and their exceptions."""
EDGE_SCORES = (
    "SELECT m.*, f.log_alpha FROM ({0}) AS m LEFT JOIN edge_scores AS f"
    " ON f.src = m.src AND f.dst = m.dst"
)
"""Rows with the numbers of their ends and the score of their edge."""
DIFFERENT_EDGES = "SELECT DISTINCT src, dst FROM ({0}) AS m WHERE src <> dst"


def float_literal(value: float) -> str:
    """A float32 as both engines read it, to the bit."""
    return f"CAST({value:.17E} AS FLOAT)"


def matched(
    table: str, src: str, dst: str, graph: str | None = None, score: str | None = None
) -> str:
    """Rows e of a table with the numbers of their source b and target a, and a score.

    `src` and `dst` are ids as of `id_of`; `graph` is the column with the name of the
    graph, where there are several.
    """
    column = "" if score is None else f", {score} AS log_alpha"
    joins = " ".join(
        f"LEFT JOIN nodes AS {name} ON {id} = {name}.id"
        + ("" if graph is None else f" AND e.{graph} = {name}.graph")
        for name, id in (("b", src), ("a", dst))
    )
    return f"SELECT e.*, b.node AS src, a.node AS dst{column} FROM {table} AS e {joins}"


def node_score(rank: int, combination: Combination | None = None) -> str:
    """The score of a row, or of both directions, from numbers of its ends.

    log α of j → i = s_i + t_j + q_i · k_j          vectors of length `rank`
    """
    forward = _one_way("a", "b", rank)
    if combination is None:
        return forward
    return COMBINATIONS[combination].format(forward, _one_way("b", "a", rank))


def _one_way(target: str, source: str, rank: int) -> str:
    alone = f"{target}.s + {source}.t"
    if not rank:
        return alone
    product = " + ".join(
        f"CAST({target}.q{r} AS DOUBLE) * {source}.k{r}" for r in range(rank)
    )
    return f"CAST(CAST({alone} AS DOUBLE) + ({product}) AS FLOAT)"


def id_of(column: str, kind: Kind, *, as_integer: bool) -> str:
    """A column as the ids of the nodes are; null where it can be none of them.

    Text is an integer only if it is written as integers are: `7`, not `07` or `+7`.
    """
    if not as_integer:
        return f"e.{column}"
    number = f"TRY_CAST(e.{column} AS BIGINT)"
    if kind == "integer":
        return number
    return f"CASE WHEN CAST({number} AS STRING) = e.{column} THEN {number} END"


FREE = (
    "SELECT l.score, l.key FROM links AS l LEFT JOIN guaranteed AS g"
    " ON g.key = l.key WHERE g.key IS NULL"
)


def text_types(table: str, columns: list[str]) -> str:
    """Whether the cells of each column of text are all integers, and all numbers.

    A cell is a number only if nothing is lost by it: `7` and `0.25`, but neither `007`
    nor `1.10`. Empty cells say nothing; without any other cell the answer is null.
    """
    checks = []
    for name in columns:
        whole = f"CAST(TRY_CAST({name} AS BIGINT) AS STRING) = {name}"
        lossy = " OR ".join(
            f"({name} LIKE '{bad}' AND {name} NOT LIKE '{good}')"
            for bad, good in LOSSY.items()
        )
        number = (
            f"TRY_CAST({name} AS DOUBLE) IS NOT NULL AND LENGTH({name}) <= 17"
            f" AND NOT ({lossy})"
        )
        checks += [
            f"MIN(CASE WHEN {name} IS NULL THEN NULL WHEN {test} THEN 1 ELSE 0 END)"
            for test in (whole, number)
        ]
    return f"SELECT {', '.join(checks)} FROM {table}"


@dataclasses.dataclass(frozen=True)
class Scoring:
    """How the score and the key of a row are formed.

    Where both directions are one, log_alpha of a row is that of both.
    """

    num_nodes: int
    combination: Combination | None = None  # of rows that go both ways; None: none
    is_pairwise: bool = False  # whether both directions are one, be they there or not
    undirected: bool = False  # whether each row stands for both directions

    @property
    def needs_pairs(self) -> bool:
        """Whether the reverse of a row has to be looked for."""
        return self.combination is not None and not self.is_pairwise

    @property
    def pairs(self) -> str:
        """The pairs of nodes between which rows go both ways."""
        assert self.combination is not None
        one_way = ", ".join(
            f"MAX(CASE WHEN src {sign} dst THEN log_alpha END) AS {name}"
            for sign, name in (("<", "up"), (">", "down"))
        )
        both = COMBINATIONS[self.combination].format("up", "down")
        return (
            f"SELECT low, high, {both} AS score FROM (SELECT low, high, {one_way} FROM"
            " (SELECT LEAST(src, dst) AS low, GREATEST(src, dst) AS high, src, dst,"
            " log_alpha FROM gated) AS g GROUP BY low, high) AS h"
            " WHERE up IS NOT NULL AND down IS NOT NULL"
        )

    def scored(self, base: str, columns: str, score: str = "m.log_alpha") -> str:
        """Rows of a relation like `matched` with columns score and key."""
        key = f"CAST(m.dst AS BIGINT) * {self.num_nodes} + m.src"
        pair_key = (
            f"CAST(LEAST(m.src, m.dst) AS BIGINT) * {self.num_nodes}"
            " + GREATEST(m.src, m.dst)"
        )
        join = ""
        if self.is_pairwise:
            key = pair_key
        elif self.combination is not None:
            is_pair = "p.low IS NOT NULL"
            score = f"CASE WHEN {is_pair} THEN p.score ELSE {score} END"
            key = f"CASE WHEN {is_pair} THEN {pair_key} ELSE {key} END"
            join = (
                " LEFT JOIN pairs AS p ON p.low = LEAST(m.src, m.dst)"
                " AND p.high = GREATEST(m.src, m.dst)"
            )
        return (
            f"SELECT {columns}, CASE WHEN m.src <> m.dst THEN {score} END AS score,"
            f" CASE WHEN m.src <> m.dst THEN {key} END AS key FROM {base} AS m{join}"
        )

    def best_in_edges(self, degree: int) -> str:
        """Keys of the best edges into every node."""
        rows = "SELECT dst AS node, score, key FROM links"
        if self.undirected:
            rows += " UNION ALL SELECT src AS node, score, key FROM links"
        return (
            "SELECT key FROM (SELECT key, DENSE_RANK() OVER (PARTITION BY node"
            f" ORDER BY score DESC, key) AS place FROM ({rows}) AS r) AS w"
            f" WHERE place <= {degree}"
        )


def guaranteed(parts: dict[Reason, str]) -> str:
    """Keys that stay, with the first reason for each."""
    rows = " UNION ALL ".join(
        f"SELECT key, {reason:d} AS code FROM ({part}) AS r{reason:d}"
        for reason, part in parts.items()
    )
    return f"SELECT key, MIN(code) AS code FROM ({rows}) AS r GROUP BY key"


def judged(base: str, by_score: str, filled: str | None) -> str:
    """Rows of a relation like `scored` with the reason why they stay or go.

    `by_score` and `filled` are the conditions of a `Decision`.
    """
    stays, owed, join = by_score, "", ""
    if filled is not None:
        stays = f"({by_score}) AND (g.code IS NOT NULL OR ({filled}))"
        owed = "WHEN g.code IS NOT NULL THEN g.code"
        join = "LEFT JOIN guaranteed AS g ON g.key = s.key"
    return (
        f"SELECT s.*, CASE WHEN s.src IS NULL OR s.dst IS NULL THEN {Reason.MISSING:d}"
        f" WHEN s.src = s.dst THEN {Reason.LOOP:d} WHEN {stays} THEN {Reason.SCORE:d}"
        f" {owed} ELSE {Reason.REMOVED:d} END AS reason FROM {base} AS s {join}"
    )


def output(
    columns: list[str],
    threshold: float | None,
    gates: HardConcrete,
    line: tuple[float, float],
    gone: Collection[Reason],
    place: str | None,
) -> str:
    """The kept rows with the columns of the user and, if wanted, those of the scores.

    Gates are those of `chosen_scores` in memory, probabilities those of the `line`
    (`SGAT.odds_line`). A loop has no log α, and its probability and gate are 1; a row
    whose node is missing has none of the three. Without a `threshold` above which gates
    are open, no scores are written. The column `place` comes last.
    """
    wanted = list(columns)
    if threshold is not None:
        score, own = "CAST(score AS DOUBLE)", f"{gates.threshold:.17E}"
        moved = f"({score} - ({threshold:.17E}))"
        probability = _sigmoid(f"{score} * {line[0]:.17E} + ({line[1]:.17E})")
        relaxed = _sigmoid(f"({moved} + ({own})) / {gates.temperature:.17E}")
        width = gates.zeta - gates.gamma
        value = f"({relaxed} * {width:.17E} + ({gates.gamma:.17E}))"
        open_gate = f"WHEN {value} > 0E0 THEN LEAST({value}, 1E0)"
        gate = f"CASE {open_gate} ELSE {relaxed} END"
        wanted.append("score AS log_alpha")
        wanted += [
            f"CAST(CASE WHEN reason = {Reason.LOOP:d} THEN 1E0 WHEN score IS NOT NULL"
            f" THEN {value} END AS FLOAT) AS {name}"
            for name, value in (("probability", probability), ("gate", gate))
        ]
    if place is not None:
        wanted.append(place)
    codes = ", ".join(f"{reason:d}" for reason in gone)
    return f"SELECT {', '.join(wanted)} FROM judged WHERE reason NOT IN ({codes})"


def _sigmoid(x: str) -> str:
    limit = f"{LARGEST_EXPONENT}E0"
    return f"(1E0 / (1E0 + EXP(GREATEST(LEAST(-({x}), {limit}), -{limit}))))"
