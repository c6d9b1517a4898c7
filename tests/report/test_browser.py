"""The page in a real browser, with the network off."""

import base64
import functools
import io
import re

import numpy as np
import pytest
import torch

pytest.importorskip("selenium", reason="selenium is not installed")
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

from sgat.report import build
from sgat.report.build import write_report
from sgat.training.files import read_records

# A real browser, which draws in software.
pytestmark = [pytest.mark.promise, pytest.mark.slow]

NUM_NODES = 61
IDS = ("hostile_run", "undirected_run", "large_run", "several_run")


def pixels(browser, selector="#graph"):
    """What the element looks like, [H, W, 3]."""
    from matplotlib.image import imread

    element = browser.find(selector)
    browser.run("arguments[0].scrollIntoView({block: 'center'})", element)
    picture = base64.b64decode(element.screenshot_as_base64)
    return imread(io.BytesIO(picture), format="png")[:, :, :3]


def coloured(browser):
    """How many pixels of the drawing are not the background."""
    picture = pixels(browser)
    return int((np.abs(picture - picture[5, 5]).max(axis=2) > 0.05).sum())


def differ(one, other):
    """Share of the pixels that are not the same, apart from the frame of the stage."""
    inner = np.s_[12:-12, 12:-12]
    return float((np.abs(one[inner] - other[inner]).max(axis=2) > 0.02).mean())


def kept_by_numpy(scores, threshold: str) -> int:
    """Counted in the precision of the scores, as torch compares them."""
    return int((np.asarray(scores) > np.float32(threshold)).sum())


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_loads_offline_without_a_complaint(
    name, scheme, browser, page_of, request
):
    run = request.getfixturevalue(name)
    page = page_of(run)
    browser.open(page, scheme=scheme)
    assert browser.requests == [page.as_uri()]
    assert browser.complaints == []
    kept = sum(int(scores.kept.sum()) for scores in [part.edges for part in run.scored])
    if name != "several_run":
        assert int(browser.graph["edgesKept"]) == kept
    assert browser.run("return document.documentElement.dataset.theme") == scheme


@pytest.mark.parametrize(("width", "most_rows"), [(1280, 1), (800, 2), (390, 4)])
def test_the_numbers_stand_in_full_rows_and_nothing_sticks_out(
    width, most_rows, browser, page_of, hostile_run
):
    browser.open(page_of(hostile_run), width=width)
    boxes = browser.run(
        "return [...document.querySelectorAll('.tile')].map(t => {"
        " const b = t.getBoundingClientRect();"
        " return [b.top, b.left, b.right, t.scrollWidth - t.clientWidth]; })"
    )
    assert len(boxes) == 7  # with the estimated noise
    rows = {top for top, *_ in boxes}
    assert len(rows) <= most_rows
    for row in rows:
        ends = [(left, right) for top, left, right, _ in boxes if top == row]
        assert min(ends)[0] == pytest.approx(boxes[0][1], abs=1)
        assert max(ends)[1] == pytest.approx(max(b[2] for b in boxes), abs=1)
    assert not any(over > 0 for *_, over in boxes)
    button = browser.run(
        "const form = document.getElementById('search').form;"
        "const box = document.querySelector('.controls').getBoundingClientRect();"
        "return box.right - form.lastElementChild.getBoundingClientRect().right"
    )
    assert button >= 12 and browser.find("#search").size["width"] > 150


@pytest.mark.parametrize("name", ["hostile_run", "undirected_run"])
def test_the_threshold_slider_draws_as_many_edges_as_the_data_says(
    name, browser, page_of, request
):
    run = request.getfixturevalue(name)
    browser.open(page_of(run))
    scores = run.scored[0].edges.log_alpha.numpy()
    drawn = int(browser.graph["edgesDrawn"])
    assert drawn == int(run.scored[0].edges.kept.sum())
    seen = {drawn}
    for share in (0.0, 0.1, 0.35, 0.5, 0.8, 1.0):
        wanted = float(np.quantile(scores, share))
        browser.slide("#threshold", wanted)
        state = browser.graph
        expected = kept_by_numpy(scores, state["threshold"])
        assert float(state["threshold"]) == pytest.approx(wanted, abs=0.02)
        assert int(state["edgesDrawn"]) == int(state["edgesKept"]) == expected
        assert f"{expected:,} of {len(scores):,} edges kept" in (
            browser.find("#counts").text
        )
        seen.add(expected)
    assert len(seen) >= 5
    browser.find("#reset-threshold").click()
    assert int(browser.graph["edgesDrawn"]) == drawn


def test_the_threshold_slider_answers_to_arrow_keys(browser, page_of, hostile_run):
    browser.open(page_of(hostile_run))
    scores = hostile_run.scored[0].edges.log_alpha.numpy()
    before = browser.graph
    browser.find("#threshold").send_keys(Keys.ARROW_RIGHT * 40)
    after = browser.graph
    assert float(after["threshold"]) > float(before["threshold"])
    assert int(after["edgesDrawn"]) == kept_by_numpy(scores, after["threshold"])
    assert browser.find("#threshold").get_attribute("aria-valuetext")


def test_edges_on_the_screen_go_with_the_threshold(browser, page_of, hostile_run):
    browser.open(page_of(hostile_run))
    browser.find("#show-ids").click()
    browser.find("#show-removed").click()
    slider = browser.find("#threshold")
    found = []
    for end in ("min", "max"):
        browser.slide("#threshold", slider.get_attribute(end))
        browser.run("return new Promise((done) => requestAnimationFrame(done))")
        found.append((int(browser.graph["edgesDrawn"]), coloured(browser)))
    (all_edges, with_edges), (no_edges, without) = found
    assert (all_edges, no_edges) == (len(hostile_run.scored[0].edges.log_alpha), 0)
    assert with_edges > 1.3 * without > 0
    browser.find("#show-removed").click()
    browser.run("return new Promise((done) => requestAnimationFrame(done))")
    assert coloured(browser) > 1.1 * without


def test_the_epoch_slider_shows_the_snapshots(browser, page_of, hostile_run):
    browser.open(page_of(hostile_run))
    with np.load(hostile_run.folder.snapshots) as file:
        epochs, log_alpha = file["epoch"], file["log_alpha"]
    assert len(epochs) == 5
    threshold = hostile_run.model.gating.gates.threshold
    assert browser.graph["epoch"] == "trained"
    counts = set()
    for place, epoch in enumerate(epochs):
        browser.slide("#epoch", place)
        state = browser.graph
        assert state["epoch"] == str(epoch) == browser.find("#epoch-value").text
        expected = kept_by_numpy(log_alpha[place], threshold)
        assert int(state["edgesDrawn"]) == expected
        counts.add(expected)
    assert len(counts) > 1
    browser.find("#epoch").send_keys(Keys.END)
    assert browser.graph["epoch"] == "trained"


def test_a_run_without_snapshots_has_no_epoch_slider(browser, page_of, undirected_run):
    browser.open(page_of(undirected_run))
    assert not browser.find("#epochs").is_displayed()


def test_search_finds_a_node_and_shows_its_neighbourhood(browser, page_of, hostile_run):
    data = hostile_run.graphs[0]
    browser.open(page_of(hostile_run))
    src, dst = data.graph.src.numpy(), data.graph.dst.numpy()
    node = int(np.bincount(dst).argmax())
    browser.search(str(data.node_ids[node]))
    assert browser.graph["selected"] == data.node_ids[node]
    panel = browser.find("#panel")
    assert panel.is_displayed()
    into, from_ = dst == node, src == node
    kept = hostile_run.scored[0].edges.kept.numpy()
    assert f"{kept[into].sum()} of {into.sum()} kept" in panel.text
    rows = browser.find_all("#panel li")
    assert len(rows) == into.sum() + from_.sum()
    assert len(browser.find_all("#panel li.kept")) == (
        kept[into].sum() + kept[from_].sum()
    )
    best = hostile_run.scored[0].edges.probability.numpy()[into].max()
    assert (f"{best:.3f}" if best < 0.999 else "> 0.999") in rows[0].text
    browser.press(Keys.ESCAPE)
    assert not panel.is_displayed()
    assert browser.graph["selected"] == ""


@pytest.mark.parametrize("name", ["hostile_run", "undirected_run", "deaf_run"])
def test_a_node_receives_nothing_where_no_messages_travel(
    name, browser, page_of, request
):
    run = request.getfixturevalue(name)
    graph, kept = run.graphs[0].graph, run.scored[0].edges.kept
    into = torch.bincount(graph.dst[kept], minlength=graph.num_nodes)
    from_ = torch.bincount(graph.src[kept], minlength=graph.num_nodes)
    node = int(torch.minimum(into, from_).argmax())
    assert into[node] and from_[node]
    browser.open(page_of(run))
    ids = run.graphs[0].node_ids
    browser.search(str(node if ids is None else ids[node]))

    def titles():
        return [title.text for title in browser.find_all("#panel strong")]

    nobody = ["No messages from · P(real)", "No messages to · P(real)"]
    heard = {
        "hostile_run": ["Messages from · P(real)", "Messages to · P(real)"],
        "undirected_run": ["Neighbours · P(real)"],
        "deaf_run": nobody,
    }[name]
    assert titles() == heard
    slider = browser.find("#threshold")
    browser.slide("#threshold", slider.get_attribute("max"))
    assert titles() == nobody[: len(heard)]


def test_search_offers_matches_for_the_arrow_keys(browser, page_of, hostile_run):
    browser.open(page_of(hostile_run))
    browser.find("#search").send_keys("n1")
    offered = [item.text for item in browser.find_all("#matches li")]
    assert offered[0] == "n1" and "n10" in offered
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
    assert browser.graph["selected"] == offered[1]
    assert not browser.find("#matches").is_displayed()


def test_search_finds_an_id_that_was_cut_off(
    browser, hostile_run, tmp_path, monkeypatch
):
    monkeypatch.setattr("sgat.report.graph_view.MOST_ID_BYTES", NUM_NODES * 30)
    write_report(hostile_run.content(), tmp_path / "cut.html")
    browser.open(tmp_path / "cut.html")
    long = max(hostile_run.graphs[0].node_ids, key=len)
    browser.search(long)
    assert browser.graph["selected"] == long[:29] + "…"
    assert "cut off after 30 characters" in browser.find("#view .note").text


def test_search_says_what_it_does_not_find(browser, page_of, hostile_run):
    browser.open(page_of(hostile_run))
    browser.search("<i>nobody</i>")
    assert "No node in this page" in browser.find("#counts").text
    assert "<i>nobody</i>" in browser.find("#counts").text


def test_a_click_on_a_node_shows_its_neighbourhood(browser, page_of, undirected_run):
    browser.open(page_of(undirected_run))
    # Search brings the node into the middle, where it stays when the panel is closed.
    browser.search("7")
    browser.press(Keys.ESCAPE)
    assert browser.graph["selected"] == ""
    stage = browser.find("#graph")
    browser.run("arguments[0].scrollIntoView({block: 'center'})", stage)
    ActionChains(browser.driver).move_to_element(stage).click().perform()
    browser.wait("return document.getElementById('graph').dataset.selected === '7'")
    neighbours = (undirected_run.graphs[0].graph.dst == 7).sum()
    assert len(browser.find_all("#panel li")) == neighbours
    browser.find("#panel li button").click()
    assert browser.graph["selected"] not in ("", "7")
    browser.find("#panel .close").click()
    assert browser.graph["selected"] == ""


def test_hostile_text_is_shown_as_text(browser, page_of, hostile_run):
    browser.open(page_of(hostile_run))
    data = hostile_run.graphs[0]
    for node, text in enumerate(data.node_ids):
        if str(text).startswith("n") and len(str(text)) < 4:
            continue
        browser.search(str(text))
        assert browser.graph["selected"] == text
        name = browser.find("#panel h3 bdi")
        shown = browser.run("return arguments[0].textContent", name)
        if len(text) > 60:
            assert shown == text[:59] + "…"
            assert name.get_attribute("title") == text
        else:
            assert shown == text
        prediction = hostile_run.scored[0].prediction[node]
        facts = browser.run(
            "return [...document.querySelectorAll('#panel dd bdi')]"
            ".map((e) => e.title || e.textContent)"
        )
        assert facts[0] == data.classes[prediction]
        browser.press(Keys.ESCAPE)
    legend = [item.text for item in browser.find_all("#legend button bdi")]
    titles = [b.get_attribute("title") for b in browser.find_all("#legend button bdi")]
    found = [title or text for title, text in zip(titles, legend, strict=True)]
    assert found == list(hostile_run.graphs[0].classes)
    assert browser.run("return window.hacked") is None
    assert browser.run("return document.querySelectorAll('b, img').length") == 0
    scripts = browser.run(
        "return [...document.scripts].map((s) => s.type || 'code').sort()"
    )
    assert scripts == ["application/json"] * 3 + ["code"] * 3
    assert browser.complaints == []


def test_what_is_put_into_the_page_cannot_run(browser, page_of, hostile_run):
    browser.open(page_of(hostile_run))
    browser.run(
        "const script = document.createElement('script');"
        "script.textContent = 'window.hacked = 5';"
        "document.body.append(script);"
        "const image = new Image(); image.src = 'https://example.org/x.png';"
    )
    assert browser.run("return window.hacked") is None
    complaints = " ".join(browser.complaints)
    assert "script-src" in complaints and "img-src" in complaints


def test_the_theme_can_be_changed_and_follows_the_system(
    browser, page_of, undirected_run
):
    def brightness():
        colour = browser.run("return getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3

    browser.open(page_of(undirected_run), scheme="dark")
    dark, dark_stage = brightness(), pixels(browser)[5, 5].mean()
    button = browser.find("#theme")
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    light, light_stage = brightness(), pixels(browser)[5, 5].mean()
    assert dark < 60 < 200 < light
    assert dark_stage < 0.3 < 0.8 < light_stage
    assert button.get_attribute("aria-pressed") == "false"
    browser.run("localStorage.clear()")


def test_colours_and_classes_can_be_chosen(browser, page_of, undirected_run):
    browser.open(page_of(undirected_run))
    before = pixels(browser)
    browser.find("input[name='colour-by'][value='label']").click()
    by_label = pixels(browser)
    assert differ(before, by_label) > 0.0005
    first = browser.find("#legend button")
    first.click()
    assert first.get_attribute("aria-pressed") == "true"
    assert differ(pixels(browser), by_label) > 0.005
    first.click()
    assert first.get_attribute("aria-pressed") == "false"
    assert differ(pixels(browser), by_label) < 0.0005


def test_a_large_graph_is_looked_at_node_by_node(browser, page_of, large_run):
    data, scores = large_run.graphs[0], large_run.scored[0].edges
    browser.open(page_of(large_run))
    edges = data.graph.num_edges
    assert edges > 20_000
    notes = browser.find("#view .note").text
    assert f"{edges:,} edges" in notes and "one node with its neighbourhood" in notes
    src, dst = data.graph.src.numpy(), data.graph.dst.numpy()
    degree = np.bincount(np.concatenate([src, dst]), minlength=data.num_nodes)
    hub = int(degree.argmax())
    assert browser.graph["selected"] == data.node_ids[hub]
    for node in (hub, int(degree.argmin()), 17):
        browser.search(str(data.node_ids[node]))
        state = browser.graph
        assert state["selected"] == data.node_ids[node]
        near = {node, *src[dst == node], *dst[src == node]}
        assert int(state["nodesOnStage"]) == len(near) <= 161
        inside = np.isin(src, list(near)) & np.isin(dst, list(near))
        assert int(state["edgesOnStage"]) == inside.sum()
        assert int(state["edgesDrawn"]) == scores.kept.numpy()[inside].sum()
        assert int(state["edgesKept"]) == int(scores.kept.sum())
    browser.slide("#threshold", float(scores.log_alpha.median()))
    state = browser.graph
    log_alpha = scores.log_alpha.numpy()
    assert int(state["edgesKept"]) == kept_by_numpy(log_alpha, state["threshold"])
    assert int(state["edgesDrawn"]) == kept_by_numpy(
        log_alpha[inside], state["threshold"]
    )
    assert browser.complaints == []


def test_one_of_several_labels_gives_the_colour(browser, page_of, several_run):
    browser.open(page_of(several_run))
    options = browser.find_all("#label-column option")
    assert [option.text for option in options] == [
        str(name) for name in several_run.graphs[0].classes
    ]
    before = pixels(browser)
    chosen = browser.find("input[name='colour-by']:checked")
    assert chosen.get_attribute("value") == "prediction"
    browser.find("input[name='colour-by'][value='label']").click()
    assert differ(pixels(browser), before) > 0.001
    chosen.click()
    assert differ(pixels(browser), before) < 0.0005
    options[3].click()
    assert differ(pixels(browser), before) > 0.001
    assert "one of the 5 graphs" in browser.find("#view .note").text
    browser.search("3")
    place = next(k for k, d in enumerate(several_run.graphs) if d.test.any())
    labels = several_run.graphs[place].y[3] > 0
    shown = browser.find("#panel dl").text
    names = [str(several_run.graphs[0].classes[k]) for k in torch.nonzero(labels)[:, 0]]
    assert f"Labels\n{', '.join(names) or 'none'}" in shown


def test_all_controls_can_be_reached_by_tab_and_show_it(browser, page_of, hostile_run):
    browser.open(page_of(hostile_run))
    browser.run("document.getElementById('theme').focus()")
    reached = []
    for _ in range(40):
        browser.press(Keys.TAB)
        name, ring = browser.run(
            "const e = document.activeElement;"
            "return [e.id || e.tagName, getComputedStyle(e).outlineStyle]"
        )
        if name == "BODY":
            break
        assert ring != "none", name
        reached.append(name)
    wanted = ["search", "show-removed", "show-ids", "threshold", "epoch", "play"]
    wanted += ["graph", "zoom-in", "chart-loss"]
    assert [name for name in reached if name in wanted] == wanted


def test_the_stage_answers_to_keys(browser, page_of, hostile_run):
    browser.open(page_of(hostile_run))
    browser.run("document.getElementById('graph').focus()")
    start = pixels(browser)
    for key in (Keys.ARROW_LEFT, Keys.ARROW_UP, "+", "-"):
        before = pixels(browser)
        browser.press(key)
        browser.run("return new Promise((done) => requestAnimationFrame(done))")
        assert differ(pixels(browser), before) > 0.005, key
    browser.press("0")
    browser.run("return new Promise((done) => requestAnimationFrame(done))")
    assert differ(pixels(browser), start) < 0.0005


def test_charts_tell_their_values_to_the_arrow_keys(browser, page_of, hostile_run):
    browser.open(page_of(hostile_run))
    history = read_records(hostile_run.folder.metrics)
    chart = browser.find("#chart-open")
    browser.run("arguments[0].focus()", chart)
    browser.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    told = browser.find("#tooltip").text
    share = history["kept_share"][1]
    assert told.startswith("epoch 2\n")
    assert f"kept at evaluation: {100 * share:.1f} %" in told
    browser.press(Keys.ESCAPE)
    assert not browser.find("#tooltip").is_displayed()


@pytest.mark.parametrize("name", IDS)
def test_nothing_is_wider_than_a_narrow_window(name, browser, page_of, request):
    browser.open(page_of(request.getfixturevalue(name)), width=380, height=800)
    width = browser.run("return document.documentElement.scrollWidth")
    assert width <= 380
    # The chosen node leaves the buttons of the drawing free.
    browser.search(
        browser.run("return document.getElementById('panel').textContent") or "1"
    )
    panel, buttons = browser.find("#panel"), browser.find(".zoom")
    assert panel.is_displayed()
    assert buttons.rect["y"] + buttons.rect["height"] <= panel.rect["y"]


def test_paper_shows_a_still_picture_and_no_controls(browser, page_of, hostile_run):
    browser.open(page_of(hostile_run), scheme="dark")
    browser.send("Emulation.setEmulatedMedia", media="print")
    try:
        assert browser.find("svg.still").is_displayed()
        for hidden in ("#controls", ".stage", "#theme", "nav"):
            assert not browser.find(hidden).is_displayed()
        colour = browser.run("return getComputedStyle(document.body).backgroundColor")
        assert colour == "rgb(255, 255, 255)"
        rows = browser.find_all("#suspects tbody tr")
        assert len(rows) > 30 == sum(row.is_displayed() for row in rows)
        assert "The first 30 are printed." in browser.find("#suspects").text
        printed = browser.send("Page.printToPDF", printBackground=True)["data"]
        assert base64.b64decode(printed)[:5] == b"%PDF-"
    finally:
        browser.send("Emulation.setEmulatedMedia", media="")


def test_without_webgl_the_still_picture_stands_in(browser, page_of, hostile_run):
    added = browser.send(
        "Page.addScriptToEvaluateOnNewDocument",
        source="HTMLCanvasElement.prototype.getContext = () => null",
    )
    try:
        browser.open(page_of(hostile_run))
        assert browser.find("svg.still").is_displayed()
        assert not browser.find(".stage").is_displayed()
        assert browser.complaints == []
    finally:
        browser.send("Page.removeScriptToEvaluateOnNewDocument", **added)


def test_judged_edges_are_shown_and_sorted_by_a_press_on_a_title(browser, judged_page):
    page, ids = judged_page
    for scheme in ("light", "dark"):
        browser.open(page, width=380, scheme=scheme)
        assert browser.run("return document.documentElement.scrollWidth") <= 380
        assert browser.run("return document.documentElement.dataset.theme") == scheme
        # No reason is cut: the table is no wider than its place.
        table = "document.querySelector('#suspects .scroll')"
        assert browser.run(f"return {table}.scrollWidth - {table}.clientWidth") == 0
    assert browser.requests == [page.as_uri()]

    def column(place):
        return browser.run(
            "return [...document.querySelectorAll('.sortable tbody tr')].map("
            "row => row.cells[arguments[0]].dataset.value"
            " ?? row.cells[arguments[0]].textContent)",
            place,
        )

    def press(place):
        button = browser.find_all(".sortable th button")[place]
        button.send_keys(Keys.ENTER)
        head = browser.find_all(".sortable th")[place]
        return head.get_attribute("aria-sort")

    first = [float(value) for value in column(2)]
    assert len(first) == 200 and first == sorted(first)
    assert press(2) == "descending"
    assert [float(value) for value in column(2)] == first[::-1]
    assert press(1) == "ascending"
    assert browser.find_all(".sortable th[aria-sort]") == [
        browser.find_all(".sortable th")[1]
    ]
    numbers = [int(text) for text in column(1) if text.isdigit()]
    assert len(numbers) > 50 and numbers == sorted(numbers)
    shown = set(column(0)) | set(column(1))
    assert any(text in shown for text in ids if text.startswith("<img"))
    assert browser.run("return window.hacked") is None
    assert browser.complaints == []
    browser.run("document.getElementById('chart-trade').focus()")
    browser.press(Keys.END)
    assert "wrong edges found: 100.0 %" in browser.find("#tooltip").text


def test_edges_that_were_left_out_are_said_to_be(
    browser, undirected_run, tmp_path, monkeypatch
):
    few = functools.partial(build.build_view, most_lines=10, most_edges=50)
    monkeypatch.setattr(build, "build_view", few)
    write_report(undirected_run.content(), tmp_path / "part.html")
    browser.open(tmp_path / "part.html")
    name, number = browser.run(
        "const view = JSON.parse(document.getElementById('graph-data').textContent);"
        "const out = new Int32Array(Uint8Array.from(atob(view.leftOut),"
        " (sign) => sign.charCodeAt(0)).buffer);"
        "const node = out.findIndex((number) => number > 0);"
        "return [view.ids ? view.ids[node] : String(node), out[node]];"
    )
    browser.search(name)
    told = browser.find("#panel").text
    assert f"{number}, left out of this page" in told and "kept" not in told
