"""The shape of the house: who may import whom, sizes, names, tests, width of the docs.

Imports inside functions count; those under `if TYPE_CHECKING:` do not.
"""

import ast
import re
from collections import defaultdict
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[1]
ROOMS = (
    *("graph", "features", "config", "data", "parallel"),
    *("gates", "ops", "judging", "scorers"),
    *(
        "readouts",
        "node_classifier",
        "conv",
        "models",
        "committee",
        "training",
        "scored",
    ),
    *("pruning", "explaining", "report", "runs", "estimator", "cli", "__main__"),
)
"""Modules and packages of `sgat`; each imports only rooms before it."""
FOUNDATION = {"data": {"graph", "features", "config"}, "config": set()}
"""Rooms that import less than the order would let them."""
MOST_LINES, MOST_FILE_LINES, MOST_ROOMS = 35_660, 400, 23
WIDEST = 120
ABSENT = {"duckdb", "pyspark", "pooch", "platformdirs", "selenium", "tensorboard"}
"""Packages that a machine with a GPU may lack; its tests are collected without them."""
TESTED_BY = re.compile(r"[Tt]ested\s+(?:\w+\s+)?(?:by|in)\s+`?(tests/[\w/.]+)")


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {
    module_name(path): path
    for package in ("sgat", "sgat_lab")
    for path in sorted((ROOT / package).rglob("*.py"))
}


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    return {name: ast.parse(path.read_text("utf-8")) for name, path in FILES.items()}


def typing_only(tree: ast.AST) -> set[ast.AST]:
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for child in node.body
        for inner in ast.walk(child)
    }


def imported(name: str, tree: ast.Module) -> set[str]:
    """Modules of both packages that a module imports, its own parents left out."""
    found: set[str] = set()
    skipped = typing_only(tree)
    for node in ast.walk(tree):
        targets: list[str] = []
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            targets = [f"{node.module}.{alias.name}" for alias in node.names]
        for target in targets if node not in skipped else ():
            while target and target not in FILES:
                target = target.rpartition(".")[0]
            if target and target != name and not name.startswith(target + "."):
                found.add(target)
    return found


@pytest.fixture(scope="module")
def arrows(trees) -> dict[str, set[str]]:
    return {name: imported(name, tree) for name, tree in trees.items()}


def room(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def test_every_room_of_the_library_has_its_place():
    found = {room(name) for name in FILES if name.startswith("sgat.")}
    assert found == set(ROOMS)
    assert len(found) <= MOST_ROOMS


def test_imports_point_one_way(arrows):
    back = [
        f"{name} -> {target}"
        for name, targets in arrows.items()
        if name.startswith("sgat.")
        for target in targets
        if target.startswith("sgat.")
        and room(target) != room(name)
        and (
            ROOMS.index(room(target)) > ROOMS.index(room(name))
            or room(target) not in FOUNDATION.get(room(name), ROOMS)
        )
    ]
    assert not back


def test_the_library_never_imports_the_lab(arrows):
    found = [
        name
        for name, targets in arrows.items()
        if name.split(".")[0] == "sgat"
        and any(target.split(".")[0] == "sgat_lab" for target in targets)
    ]
    assert not found


def test_no_modules_import_each_other_in_a_circle(arrows):
    graph = nx.DiGraph((a, b) for a, targets in arrows.items() for b in targets)
    circles = [sorted(c) for c in nx.strongly_connected_components(graph) if len(c) > 1]
    assert not circles


def test_only_the_choice_of_a_backend_imports_the_fast_backends(arrows):
    fast = ("sgat.ops.cpu", "sgat.ops.gpu")
    found = {
        name
        for name, targets in arrows.items()
        if not name.startswith((*fast, "sgat.ops"))
        and any(target.startswith(fast) for target in targets)
    }
    assert not found


def test_no_class_name_is_used_twice(trees):
    homes = defaultdict(list)
    for name, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    assert not {name: where for name, where in homes.items() if len(where) > 1}


def test_no_function_shadows_its_module(trees):
    found = [
        name
        for name in FILES
        if FILES[name].name == "__init__.py"
        for node in trees[name].body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        if f"{name}.{alias.asname or alias.name}" in FILES
        and f"{node.module}.{alias.name}" not in FILES
    ]
    assert not found


def test_files_are_short_and_the_library_is_small():
    lines = {
        name: len(path.read_text("utf-8").splitlines()) for name, path in FILES.items()
    }
    assert not {name: n for name, n in lines.items() if n > MOST_FILE_LINES}
    assert sum(
        n for name, n in lines.items() if room(name) and name.startswith("sgat.")
    ) <= (MOST_LINES)


def test_every_module_has_a_test_of_its_name_or_says_where_it_is_tested(trees):
    """Its package may say it for all of its modules."""
    missing, gathered = [], 0
    for name, path in FILES.items():
        if path.name in ("__init__.py", "__main__.py"):
            continue
        gathered += 1
        package, *folders, leaf = name.split(".")
        top = ROOT / "tests" / ("lab" if package == "sgat_lab" else "")
        pages = (ast.get_docstring(trees[n]) for n in (name, name.rpartition(".")[0]))
        said = next((s for page in pages if (s := TESTED_BY.search(page or ""))), None)
        places = [top.joinpath(*folders, f"test_{leaf}.py")]
        if said:
            places.append(ROOT / said[1].rstrip("."))
        if not any(place.exists() for place in places):
            missing.append(name)
    assert gathered > 200
    assert not missing


def test_tests_keep_what_they_share_in_a_folder_of_its_own():
    found = [
        path
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for line in path.read_text("utf-8").splitlines()
        if re.match(r"\s*(from|import) ([a-z_]+\.)*test_", line)
    ]
    assert not found


def loaded_at_once(tree: ast.Module) -> set[str]:
    """Names that the import of a module imports, and parts of these names."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
    return found | {name.partition(".")[0] for name in found}


def test_tests_are_collected_where_packages_of_other_machines_are_missing(trees):
    loads = {name: loaded_at_once(tree) for name, tree in trees.items()}
    needing: dict[str, set[str]] = {}

    def absent(names: set[str]) -> set[str]:
        return (names & ABSENT).union(*(needing[n] for n in names & needing.keys()))

    while needing != (found := {n: m for n in loads if (m := absent(loads[n]))}):
        needing = found
    # The check sees what it looks for.
    assert needing["sgat.pruning.duckdb_engine"] == {"duckdb"}
    dying = {}
    for path in (ROOT / "tests").rglob("*.py"):
        text = path.read_text("utf-8")
        names = absent(loaded_at_once(ast.parse(text)))
        if names := {name for name in names if f'importorskip("{name}' not in text}:
            dying[path.name] = names
    assert not dying


@pytest.mark.parametrize(
    "path", [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")], ids=lambda path: path.name
)
def test_lines_of_the_documents_are_not_too_long(path):
    long = [
        number
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if len(line) > WIDEST and not line.lstrip().startswith(("|", "!", "["))
    ]
    assert not long


def test_only_the_command_line_spells_its_options(trees):
    spelt = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
    found = []
    for name, tree in trees.items():
        if room(name) == "cli":
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise):
                texts = [
                    part.value
                    for part in ast.walk(node)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                ]
                # Advice may quote a whole command.
                texts = [re.sub(r"`sgat [^`]*", "", text) for text in texts]
                found += [f"{name}: {text}" for text in texts if spelt.search(text)]
    assert not found
