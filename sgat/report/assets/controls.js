// Sliders, switches, search and keys of the graph view.

const MOST_MATCHES = 8;

class Controls {
  constructor(data, points) {
    this.data = data;
    this.points = points;
    this.panel = new Panel(byId("panel"), data, {
      onClose: () => this.close(),
      onChoose: (node) => this.choose(node),
    });
    this.drawing = new Drawing(byId("graph"), data, (node) => this.#selected(node));
    this.#bindThreshold();
    this.#bindEpochs();
    this.#bindSwitches();
    this.#bindSearch();
    this.#bindKeys();
    this.count();
    if (!data.isWhole && data.numNodes) this.#selected(data.hub);
  }

  /** Go to a node and show what is known of it. */
  choose(node) {
    this.drawing.select(node);
    this.drawing.goTo(node);
    byId("panel").focus();
  }

  close() {
    this.panel.hide();
    if (this.data.isWhole && this.drawing.selected !== null) this.drawing.select(null);
    this.#makeRoom();
    byId("search").focus();
  }

  /** Say how many edges are kept, in words. */
  count() {
    const { data, drawing } = this;
    const { dataset } = drawing.container;
    const share = data.numEdges ? (100 * dataset.edgesKept) / data.numEdges : 0;
    const say = (value) => Number(value).toLocaleString("en");
    const parts = [`${say(dataset.edgesKept)} of ${say(data.numEdges)} edges kept (${decimals(share, 1)} %)`];
    if (!data.isWhole) {
      const some = drawing.neighboursShown < drawing.neighbourCount;
      const which = some
        ? `${say(drawing.neighboursShown)} of ${say(drawing.neighbourCount)} neighbours (highest and lowest scores)`
        : `${say(drawing.neighbourCount)} neighbours`;
      parts.push(`on the stage: ${which}, ${say(dataset.edgesDrawn)} of ${say(dataset.edgesOnStage)} edges kept`);
    }
    const near = this.#nearestPoint(1 - share / 100);
    if (near && drawing.data.score === data.trainedScore) {
      const scores = [["validation", near.validation], ["test", near.test]]
        .filter(([, value]) => value !== null)
        .map(([name, value]) => `${name} ${decimals(100 * value, 1)} %`);
      if (scores.length) parts.push(`measured with ${decimals(100 * near.removed, 1)} % removed: ${scores.join(", ")}`);
    }
    byId("counts").textContent = parts.join(" · ");
  }

  #nearestPoint(removed) {
    let best = null;
    for (const point of this.points) {
      if (!best || Math.abs(point.removed - removed) < Math.abs(best.removed - removed)) best = point;
    }
    return best;
  }

  #selected(node) {
    if (node === null) this.panel.hide();
    else this.panel.show(node, this.drawing.style.threshold, this.drawing);
    this.#makeRoom();
    this.count();
  }

  /** The panel stands beside the drawing, not on it. */
  #makeRoom() {
    const hasPanel = !byId("panel").hidden;
    const { classList } = byId("panel").parentElement;
    if (classList.contains("with-panel") === hasPanel) return;
    classList.toggle("with-panel", hasPanel);
    this.drawing.sigma.resize();
    this.drawing.sigma.refresh();
  }

  #again() {
    const { selected } = this.drawing;
    if (selected !== null && !byId("panel").hidden) {
      this.panel.show(selected, this.drawing.style.threshold, this.drawing);
    }
    this.count();
  }

  #bindThreshold() {
    const { data } = this;
    const slider = byId("threshold");
    const reset = byId("reset-threshold");
    let [low, high] = [data.threshold, data.threshold];
    for (const scores of [data.trainedScore, ...data.snapshots.map((s) => s.score)]) {
      for (const score of scores) {
        if (score < low) low = score;
        if (score > high) high = score;
      }
    }
    const step = Math.max((high - low) / 400, 1e-4);
    slider.min = low - step;
    slider.max = high + step;
    slider.step = step;
    slider.disabled = data.numEdges === 0;
    const show = (value) => {
      this.drawing.setThreshold(value);
      const text = data.chance(value);
      byId("threshold-value").textContent = text;
      slider.setAttribute("aria-valuetext", text);
      reset.disabled = Math.fround(value) === data.threshold;
      this.#again();
    };
    slider.addEventListener("input", () => show(Number(slider.value)));
    reset.addEventListener("click", () => {
      slider.value = data.threshold;
      show(data.threshold);
    });
    slider.value = data.threshold;
    show(data.threshold);
  }

  #bindEpochs() {
    const { snapshots } = this.data;
    if (!snapshots.length) return;
    const slider = byId("epoch");
    const play = byId("play");
    byId("epochs").hidden = false;
    slider.min = 0;
    slider.max = snapshots.length;
    slider.step = 1;
    const show = (place) => {
      const snapshot = snapshots[place] ?? null;
      this.drawing.setEpoch(snapshot);
      const text = snapshot ? String(snapshot.epoch) : "trained";
      byId("epoch-value").textContent = text;
      byId("graph").dataset.epoch = text;
      slider.setAttribute("aria-valuetext", snapshot ? `epoch ${text}` : "the trained model");
      this.#again();
    };
    slider.addEventListener("input", () => show(Number(slider.value)));
    slider.value = snapshots.length;
    show(snapshots.length);
    let timer = null;
    const stop = () => {
      clearInterval(timer);
      timer = null;
      play.setAttribute("aria-pressed", "false");
      play.textContent = "Play";
    };
    play.addEventListener("click", () => {
      if (timer) return stop();
      if (Number(slider.value) >= snapshots.length) slider.value = -1;
      play.setAttribute("aria-pressed", "true");
      play.textContent = "Pause";
      const next = () => {
        slider.value = Number(slider.value) + 1;
        show(Number(slider.value));
        if (Number(slider.value) >= snapshots.length) stop();
      };
      timer = setInterval(next, 280);
    });
  }

  #bindSwitches() {
    const { drawing } = this;
    const shown = () =>
      drawing.setShown({ removed: byId("show-removed").checked, ids: byId("show-ids").checked });
    byId("show-removed").addEventListener("change", shown);
    byId("show-ids").addEventListener("change", shown);
    const column = byId("label-column");
    const recolour = () => {
      const by = document.querySelector('input[name="colour-by"]:checked').value;
      drawing.setColour(by, Number(column?.value ?? 0));
      this.#again();
    };
    for (const input of document.querySelectorAll('input[name="colour-by"]')) {
      input.addEventListener("change", recolour);
    }
    column?.addEventListener("change", recolour);
    const buttons = [...document.querySelectorAll("#legend button")];
    for (const button of buttons) {
      button.addEventListener("click", () => {
        const isAlone = button.getAttribute("aria-pressed") === "true";
        for (const other of buttons) other.setAttribute("aria-pressed", "false");
        button.setAttribute("aria-pressed", String(!isAlone));
        drawing.isolate(isAlone ? null : Number(button.dataset.class));
      });
    }
    byId("zoom-in").addEventListener("click", () => drawing.zoom(1 / 1.5));
    byId("zoom-out").addEventListener("click", () => drawing.zoom(1.5));
    byId("zoom-fit").addEventListener("click", () => drawing.fit());
  }

  #bindSearch() {
    const { data } = this;
    const [input, list] = [byId("search"), byId("matches")];
    let found = [];
    let active = -1;
    const close = () => {
      list.hidden = true;
      active = -1;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    };
    const pick = (node) => {
      close();
      this.choose(node);
    };
    const highlight = () => {
      [...list.children].forEach((item, place) => item.setAttribute("aria-selected", String(place === active)));
      if (active >= 0) input.setAttribute("aria-activedescendant", `match-${active}`);
    };
    const suggest = () => {
      const text = input.value.trim();
      found = text ? data.search(text, MOST_MATCHES).nodes : [];
      list.replaceChildren(
        ...found.map((node, place) =>
          element(
            "li",
            { role: "option", id: `match-${place}`, "aria-selected": "false", onmousedown: (event) => {
              event.preventDefault();
              pick(node);
            } },
            named(data.id(node), 40),
          ),
        ),
      );
      active = -1;
      list.hidden = !found.length;
      input.setAttribute("aria-expanded", String(found.length > 0));
    };
    input.addEventListener("input", suggest);
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") close();
      const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!move || !found.length) return;
      event.preventDefault();
      active = (active + move + found.length) % found.length;
      highlight();
    });
    byId("search-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const text = input.value.trim();
      if (!text) return;
      if (active >= 0) return pick(found[active]);
      const { nodes } = data.search(text, 1);
      if (nodes.length) pick(nodes[0]);
      else {
        close();
        byId("counts").textContent = `No node in this page has an id with “${shorten(text, 60)}”.`;
      }
    });
  }

  #bindKeys() {
    const { drawing } = this;
    const actions = {
      ArrowLeft: () => drawing.pan(-1, 0),
      ArrowRight: () => drawing.pan(1, 0),
      ArrowUp: () => drawing.pan(0, 1),
      ArrowDown: () => drawing.pan(0, -1),
      "+": () => drawing.zoom(1 / 1.5),
      "=": () => drawing.zoom(1 / 1.5),
      "-": () => drawing.zoom(1.5),
      0: () => drawing.fit(),
    };
    byId("graph").addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
      event.preventDefault();
      actions[event.key]();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !byId("panel").hidden) this.close();
    });
  }
}
