"""The graph view of `sgat report` in a browser: the page's own work per picture.

python -m benchmarks.report_view [--edges 20000] [--nodes 5000] [--repeats 40]

A run on a random graph is trained for four epochs, its page is opened in headless
Chromium, and the view is used as by hand: dragged, zoomed, its sliders moved, nodes
chosen. Each row of `results/report_view.csv` is one kind of use. `work_ms` is the
median of the page's own time per picture: handlers and the frame's script, with all
calls into WebGL and what they send; `p80_ms` is the 80th percentile. `main_ms` is the
processor time that the page's main thread took per picture, by the browser's own count,
which is the number to compare where others were at work (`load`). `picture_ms` is the
time per picture as it was seen; most of it goes to drawing, which the processor has to
do here: this Chromium uses no graphics card. Where pictures come late the page leaves
out edges while they move, so the last number is not that of a whole picture.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import append, table

CLOCK = """
window.frames_ = [];
const ask = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (callback) => ask((now) => {
  const start = performance.now();
  callback(now);
  window.frames_.push(performance.now() - start);
});
window.frame_ = () => new Promise((done) => ask(() => setTimeout(done, 0)));
"""
"""Run before the page: times what the page does in its frames."""

USES = {
    "drag": """
        const box = stage.getBoundingClientRect();
        const at = {bubbles: true, cancelable: true, button: 0, buttons: 1};
        const x = box.x + box.width / 2, y = box.y + box.height / 2;
        const send = (kind, k) => target.dispatchEvent(new MouseEvent(
            kind, {...at, clientX: x + 60 * Math.sin(k / 6), clientY: y + 2 * k}));
        if (k === 0) send("mousedown", 0);
        send("mousemove", k + 1);
        if (k === repeats - 1) send("mouseup", k + 1);
    """,
    "zoom": """
        const box = stage.getBoundingClientRect();
        target.dispatchEvent(new WheelEvent("wheel", {bubbles: true, cancelable: true,
            deltaY: k % 8 < 4 ? -90 : 90,
            clientX: box.x + box.width / 2, clientY: box.y + box.height / 2}));
    """,
    "point": """
        const box = stage.getBoundingClientRect();
        target.dispatchEvent(new MouseEvent("mousemove", {bubbles: true,
            clientX: box.x + box.width * (0.2 + 0.6 * k / repeats),
            clientY: box.y + box.height / 2}));
    """,
    "threshold": """
        const slider = document.getElementById("threshold");
        slider.value = Number(slider.min)
            + (slider.max - slider.min) * (k + 1) / (repeats + 1);
        slider.dispatchEvent(new Event("input", {bubbles: true}));
    """,
    "epoch": """
        const slider = document.getElementById("epoch");
        slider.value = k % (Number(slider.max) + 1);
        slider.dispatchEvent(new Event("input", {bubbles: true}));
    """,
    "choose": """
        const input = document.getElementById("search");
        input.value = ids[k % ids.length];
        document.getElementById("search-form").dispatchEvent(
            new Event("submit", {bubbles: true, cancelable: true}));
    """,
}
"""What a hand does for picture number k of so many."""
COLUMNS = ["use", "edges", "nodes", "work_ms", "p80_ms", "main_ms", "picture_ms"]


def use_view(driver: Any, use: str, repeats: int, ids: list[str]) -> dict[str, float]:
    """Use the open page so often in one way, and time it.

    The page must have been opened after `watch`.
    """
    before = _processor_seconds(driver)
    found = driver.execute_async_script(
        """
        const [act, repeats, ids, done] = arguments;
        const stage = document.getElementById("graph");
        const target = stage.querySelector(".sigma-mouse");
        const work = [], whole = [];
        (async () => {
          await frame_();
          for (let k = 0; k < repeats; k++) {
            frames_.length = 0;
            const start = performance.now();
            HANDS[act](stage, target, k, repeats, ids);
            const handled = performance.now() - start;
            await frame_();
            work.push(handled + frames_.reduce((a, b) => a + b, 0));
            whole.push(performance.now() - start);
          }
          done([work, whole]);
        })();
        """.replace("HANDS", _hands()),
        use,
        repeats,
        ids,
    )
    spent = _processor_seconds(driver) - before
    work, whole = found
    return {
        "work_ms": round(statistics.median(work), 2),
        "p80_ms": round(statistics.quantiles(work, n=5)[-1], 2),
        "main_ms": round(1e3 * spent / repeats, 2),
        "picture_ms": round(statistics.median(whole), 1),
    }


def watch(driver: Any) -> None:
    """Time the frames of the pages that are opened from now on."""
    driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": CLOCK})


def _hands() -> str:
    parts = (
        f"{use}: (stage, target, k, repeats, ids) => {{{text}}}"
        for use, text in USES.items()
    )
    return f"({{{', '.join(parts)}}})"


def _processor_seconds(driver: Any) -> float:
    """Processor time of the page's main thread so far."""
    found = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(m["value"] for m in found if m["name"] == "TaskDuration"))


def make_page(folder: Path, num_nodes: int, num_edges: int) -> Path:
    """The page of a run on a random directed graph, with snapshots."""
    import pandas as pd

    from sgat.cli import main

    random = np.random.default_rng(0)
    pairs = random.choice(num_nodes**2, num_edges + num_nodes, replace=False)
    src, dst = pairs // num_nodes, pairs % num_nodes
    edges = pd.DataFrame({"src": src, "dst": dst})[src != dst][:num_edges]
    kind = random.integers(4, size=num_nodes)
    nodes = pd.DataFrame(
        {"id": np.arange(num_nodes), "y": [f"class {k}" for k in kind]}
    )
    for k in range(4):
        nodes[f"x{k}"] = (kind == k) + random.standard_normal(num_nodes)
    edges.to_csv(folder / "edges.csv", index=False)
    nodes.to_csv(folder / "nodes.csv", index=False)
    files = ["--edges", str(folder / "edges.csv"), "--nodes", str(folder / "nodes.csv")]
    run, options = str(folder / "run"), ["--epochs", "4", "--snapshots", "4"]
    options += ["--scorer", "additive", "--readout", "linear"]
    main(["fit", *files, "--label", "y", "--keep", "0.5", "--out", run, *options])
    main(["report", run])
    return folder / "run" / "report.html"


def start_browser() -> Any:
    """Headless Chromium that draws with the processor."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome")
    for argument in (
        *("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"),
        *("--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
        "--window-size=1280,1000",
    ):
        options.add_argument(argument)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_script_timeout(300)
    return driver


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=20_000)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--repeats", type=int, default=40)
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as place:
        page = make_page(Path(place), arguments.nodes, arguments.edges)
        driver = start_browser()
        try:
            watch(driver)
            driver.get(page.resolve().as_uri())
            ids = [str(node) for node in range(7, arguments.nodes, 97)]
            for use in USES:
                found = use_view(driver, use, arguments.repeats, ids)
                size = {"edges": arguments.edges, "nodes": arguments.nodes}
                rows.append({"use": use, **size, **found})
                print(rows[-1], flush=True)
        finally:
            driver.quit()
    append("report_view", rows, "cpu")
    print(table(rows, COLUMNS))


if __name__ == "__main__":
    main()
