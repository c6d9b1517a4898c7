"""Finished runs on small graphs, and a real browser to look at their pages with."""

import dataclasses
import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.judged_rows import rows_judged, write_page
from support.settings import request_for
from support.small_data import several_graphs

from sgat.config import Config
from sgat.data.configured import Loaded
from sgat.judging.reasons import REASONS
from sgat.report.build import write_report
from sgat.runs.finished_run import FinishedRun, open_run
from sgat.runs.folder import RunFolder
from sgat.runs.request import start_run
from sgat.runs.results import write_results
from sgat.runs.run import run
from sgat.scored import score_graphs
from sgat.training.loop import fit

HOSTILE_IDS = (
    "<script>window.hacked = 1; alert(1)</script>",
    "</script><script>window.hacked = 2</script>",
    "\"quoted\" 'single' `back`",
    "<img src=x onerror='window.hacked = 3'>",
    "🦊 emoji & ampersand &lt;",
    "\u202eright to left\u202c",
    "long " + "x" * 10_000,
    "$title ${data} %s {0} \\u003c",
)
HOSTILE_CLASSES = ("</style><b>bold</b>", '"><script>window.hacked = 4</script>')
NUM_NODES = 61


def finish(folder: Path, edges: pd.DataFrame, nodes: pd.DataFrame, **options):
    """Train shortly on two tables and open the run."""
    folder.mkdir(exist_ok=True)
    edges.to_csv(folder / "edges.csv", index=False)
    nodes.to_csv(folder / "nodes.csv", index=False)
    files = {"edges": folder / "edges.csv", "nodes": folder / "nodes.csv"}
    settings = {"label": "y", "epochs": 8, "keep": 0.5, "hidden": 8}
    request = request_for({**files, "out": folder / "run", **settings, **options})
    started, config = start_run(request, overwrite=False)
    run(started, config)
    return open_run(folder / "run")


def tables(ids, classes, num_edges, seed=0):
    """Random edges between nodes whose two features tell the class, more or less."""
    random = np.random.default_rng(seed)
    kind = random.integers(len(classes), size=len(ids))
    ends = random.integers(len(ids), size=(2, num_edges))
    names = np.array(ids, dtype=object)
    edges = pd.DataFrame({"src": names[ends[0]], "dst": names[ends[1]]})
    edges = edges[edges.src != edges.dst].drop_duplicates()
    nodes = pd.DataFrame({"id": names, "y": np.array(classes, dtype=object)[kind]})
    for column in ("a", "b"):
        nodes[column] = kind + random.standard_normal(len(ids))
    return edges, nodes


@pytest.fixture(scope="session")
def hostile_run(tmp_path_factory) -> FinishedRun:
    """Directed edges, names that try to break out, and snapshots."""
    ids = [*HOSTILE_IDS, *(f"n{k}" for k in range(NUM_NODES - len(HOSTILE_IDS)))]
    made = tables(ids, HOSTILE_CLASSES, 200)
    return finish(tmp_path_factory.mktemp("hostile"), *made, snapshots=5)


@pytest.fixture(scope="session")
def undirected_run(tmp_path_factory) -> FinishedRun:
    """Both directions of an edge share a gate; ids are numbers."""
    made = tables(range(43), ("odd", "even", "third"), 90, seed=1)
    return finish(tmp_path_factory.mktemp("undirected"), *made, undirected=True)


@pytest.fixture(scope="session")
def deaf_run(tmp_path_factory) -> FinishedRun:
    """Directed edges are judged, but nobody is heard over them."""
    made = tables([f"n{k}" for k in range(31)], ("left", "right"), 90, seed=4)
    alone = {"readout": "beliefs", "layers": 0, "epochs": 2}
    return finish(tmp_path_factory.mktemp("deaf"), *made, **alone)


@pytest.fixture(scope="session")
def large_run(tmp_path_factory) -> FinishedRun:
    """More edges than are drawn at once."""
    ids = [f"node {k}" for k in range(2_003)]
    made = tables(ids, ("left", "right"), 21_000, seed=2)
    return finish(tmp_path_factory.mktemp("large"), *made, epochs=2)


@pytest.fixture(scope="session")
def largest_run(tmp_path_factory) -> FinishedRun:
    """Nearly as many edges as are drawn at once, with snapshots."""
    made = tables(range(5_003), ("left", "right"), 19_977, seed=3)
    folder = tmp_path_factory.mktemp("largest")
    return finish(folder, *made, epochs=2, snapshots=2)


@pytest.fixture(scope="session")
def several_run(tmp_path_factory) -> FinishedRun:
    """Five graphs with seven labels, as `sgat fit` leaves them."""
    graphs = [
        dataclasses.replace(data, name=f"part-{k}")
        for k, data in enumerate(several_graphs())
    ]
    settings = {
        "train": {"epochs": 4, "keep": 0.5},
        "model": {"hidden": 8, "scorer": "additive", "readout": "linear"},
    }
    config = Config.from_dict(settings, where="test")
    result = fit(graphs, config.model, config.train)
    folder = RunFolder(tmp_path_factory.mktemp("several") / "run")
    folder.start(config)
    scored = score_graphs(result.sgat, graphs, result.graphs)
    write_results(folder, config, result, scored)
    return open_run(folder.path, loaded=Loaded(graphs))


@pytest.fixture(scope="session")
def page_of(tmp_path_factory):
    """The page of a run, written once."""
    folder = tmp_path_factory.mktemp("pages")
    known: dict[Path, Path] = {}

    def page(finished: FinishedRun) -> Path:
        key = finished.folder.path
        if key not in known:
            known[key] = folder / f"{len(known)}.html"
            write_report(finished.content(), known[key])
        return known[key]

    return page


@pytest.fixture(scope="session")
def judged_page(tmp_path_factory) -> tuple[Path, tuple[str, ...]]:
    """The page of judged edges between nodes with hostile ids, and these ids."""
    random = np.random.default_rng(0)
    ids = (*HOSTILE_IDS, *(str(number) for number in range(43)))
    ends = np.stack(np.triu_indices(len(ids), 1))[:, random.permutation(601)]
    folder = tmp_path_factory.mktemp("judged")
    table = pd.DataFrame(np.array(ids, dtype=object)[ends.T], columns=["src", "dst"])
    table.to_csv(folder / "edges.csv", index=False)
    judged = rows_judged(folder / "edges.csv", random.random(601))
    judged.reason[:] = np.arange(601) % len(REASONS)
    write_page(judged, folder / "judged.html")
    return folder / "judged.html", ids


class Browser:
    """Headless Chromium without a network, and what it complains about."""

    def __init__(self, driver) -> None:
        self.driver = driver

    def open(self, path: Path, *, width=1280, height=1000, scheme="light") -> None:
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        motion = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.send("Emulation.setEmulatedMedia", features=[feature, motion])
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(path.as_uri())
        self.wait("return document.documentElement.dataset.ready")

    def send(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, script, *arguments):
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, 20, 0.05).until(
            lambda driver: driver.execute_script(script, *arguments)
        )

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def find_all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def press(self, *keys):
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    @property
    def graph(self) -> dict[str, str]:
        """The attributes by which the view tells what is drawn."""
        return self.run("return {...document.getElementById('graph').dataset}")

    @property
    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    @property
    def requests(self) -> list[str]:
        entries = [json.loads(e["message"]) for e in self.driver.get_log("performance")]
        return [
            entry["message"]["params"]["request"]["url"]
            for entry in entries
            if entry["message"]["method"] == "Network.requestWillBeSent"
        ]

    def slide(self, selector, value) -> None:
        self.run(
            "const slider = document.querySelector(arguments[0]);"
            "slider.value = arguments[1];"
            "slider.dispatchEvent(new Event('input', {bubbles: true}));",
            selector,
            value,
        )

    def search(self, text: str) -> None:
        from selenium.webdriver.common.keys import Keys

        self.run(
            "const input = document.getElementById('search');"
            "input.focus(); input.value = arguments[0];"
            "input.dispatchEvent(new Event('input', {bubbles: true}));",
            text,
        )
        self.press(Keys.ENTER)


@pytest.fixture(scope="session")
def browser():
    """A real browser; tests that need one skip where it is missing."""
    webdriver = pytest.importorskip("selenium.webdriver")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    service = shutil.which("chromedriver")
    if program is None or service is None:
        pytest.skip("no Chromium with its driver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (
        *("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"),
        *("--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ):
        options.add_argument(argument)
    logs = {"browser": "ALL", "performance": "ALL"}
    options.set_capability("goog:loggingPrefs", logs)
    started = webdriver.ChromeService(service)
    driver = webdriver.Chrome(options=options, service=started)
    network = {"offline": True, "latency": 0}
    network |= {"downloadThroughput": 0, "uploadThroughput": 0}
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", network)
    yield Browser(driver)
    with warnings.catch_warnings():
        # The driver's pipes are closed by the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        driver.quit()
