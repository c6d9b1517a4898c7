// The drawing: which nodes and edges are on the stage, and how they look now.

const COLOURS = 8;
const SHAPES = 5;
const MOST_NEIGHBOURS = 160;
const MOST_EGO_EDGES = 6000;

/** Colours of the style sheet as numbers from 0 to 1. */
function themeColour(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16) / 255);
}

function themeText(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Text on a canvas runs in its own direction and cannot turn that of the next. */
function isolated(text) {
  return `\u2068${text}\u2069`;
}

class Drawing {
  constructor(container, data, onSelect) {
    this.container = container;
    this.data = data;
    this.onSelect = onSelect;
    this.colourBy = "prediction";
    this.labelColumn = 0;
    this.alone = null;
    this.selected = null;
    this.showIds = true;
    this.style = {
      threshold: data.threshold,
      showRemoved: true,
      scoreOf: (edge) => data.score[edge],
      emphasisOf: (edge) => this.#emphasis(edge),
    };
    this.pace = new Pace(this.style, () => this.sigma.scheduleRender());
    this.readTheme();
    const first = data.isWhole ? this.#wholeGraph() : this.#egoGraph(data.hub);
    this.graph = first;
    this.sigma = new Sigma(first, container, {
      defaultNodeType: "shape",
      defaultEdgeType: "scored",
      nodeProgramClasses: { shape: makeNodeProgram(this.style) },
      nodeHoverProgramClasses: { shape: makeNodeProgram(this.style) },
      edgeProgramClasses: { scored: makeEdgeProgram(this.style) },
      nodeReducer: (key, node) => this.#look(Number(key), node),
      defaultDrawNodeLabel: (context, node, settings) => this.#drawLabel(context, node, settings),
      defaultDrawNodeHover: (context, node, settings) => this.#drawHover(context, node, settings),
      labelFont: "system-ui, sans-serif",
      labelSize: 12,
      labelDensity: first.order <= 120 ? 50 : 0.6,
      labelGridCellSize: 90,
      labelRenderedSizeThreshold: data.isWhole && data.numNodes > 60 ? 6 : 0,
      stagePadding: 34,
      minCameraRatio: 0.02,
      maxCameraRatio: 4,
      zIndex: true,
      allowInvalidContainer: true,
    });
    // Asking the graphics card what lies below the pointer waits for all it has to draw.
    this.sigma.getNodeAtPosition = (place) => this.#nodeAt(place);
    this.sigma.getCamera().on("updated", () => this.pace.move());
    this.sigma.on("afterRender", () => {
      container.dataset.sharePainted = String(this.style.share);
      this.pace.sent(this.graph.size);
    });
    this.sigma.on("clickNode", ({ node }) => this.select(Number(node)));
    this.sigma.on("clickStage", () => this.select(null));
    this.sigma.on("enterNode", () => (container.dataset.pointing = "node"));
    this.sigma.on("leaveNode", () => delete container.dataset.pointing);
    if (!data.isWhole) this.selected = data.hub;
    this.report();
  }

  /** Colours from the style sheet, again after the theme has changed. */
  readTheme() {
    const lines = Math.max(this.graph?.size ?? this.data.numEdges, 1);
    const strength = Math.min(0.9, Math.max(0.28, 9 / Math.sqrt(lines) + 0.18));
    this.style.width = lines > MANY_LINES ? 0.9 : 1.5;
    this.style.kept = [...themeColour("--kept"), strength];
    this.style.removed = [...themeColour("--removed"), Math.min(0.8, strength)];
    this.style.focus = [...themeColour("--focus"), 0.95];
    this.style.ring = themeColour("--ink");
    this.style.gap = themeColour("--card");
    this.colours = Array.from({ length: COLOURS }, (_, k) => themeText(`--c${k}`));
    this.plain = themeText("--removed");
    this.text = { ink: themeText("--ink"), halo: themeText("--halo"), card: themeText("--card"), focus: themeText("--focus") };
  }

  retheme() {
    this.readTheme();
    this.sigma.refresh();
  }

  setThreshold(value) {
    this.style.threshold = Math.fround(value);
    this.pace.move();
    this.sigma.scheduleRender();
    this.report();
  }

  setEpoch(snapshot) {
    this.data.show(snapshot);
    this.pace.move();
    this.sigma.refresh();
    this.report();
  }

  setColour(by, column = 0) {
    this.colourBy = by;
    this.labelColumn = column;
    this.sigma.refresh();
  }

  setShown({ removed, ids }) {
    this.style.showRemoved = removed;
    this.showIds = ids;
    this.sigma.refresh();
    this.report();
  }

  /** Show one class alone; null for all. */
  isolate(kind) {
    this.alone = kind;
    this.sigma.refresh();
  }

  /** Choose a node, or none. In the view by nodes it becomes the centre. */
  select(node) {
    if (!this.data.isWhole) {
      if (node === null) return this.onSelect(null);
      if (node !== this.selected) this.#show(this.#egoGraph(node));
    }
    this.selected = node;
    this.sigma.refresh();
    this.report();
    this.onSelect(node);
  }

  /** Bring a node into the middle. */
  goTo(node) {
    const place = this.sigma.getNodeDisplayData(String(node));
    if (!place || !this.data.isWhole) return;
    const camera = this.sigma.getCamera();
    const ratio = Math.min(camera.ratio, this.data.numNodes > 200 ? 0.35 : 1);
    this.#move({ x: place.x, y: place.y, ratio });
  }

  pan(right, up) {
    const { x, y, ratio } = this.sigma.getCamera().getState();
    this.#move({ x: x + 0.12 * ratio * right, y: y + 0.12 * ratio * up });
  }

  zoom(factor) {
    const ratio = this.sigma.getCamera().ratio * factor;
    this.#move({ ratio: Math.min(Math.max(ratio, 0.02), 4) });
  }

  fit() {
    this.#move({ x: 0.5, y: 0.5, ratio: 1, angle: 0 });
  }

  /** Edges on the stage, in the data's positions; both directions of a line. */
  get edgesOnStage() {
    return this.data.isWhole ? null : this.egoEdges;
  }

  /**
   * Tell the page, and whoever tests it, what is drawn: data-edges-drawn is the number
   * of kept edges on the stage, data-edges-on-stage that of all.
   */
  report() {
    const { dataset } = this.container;
    const { data, style } = this;
    const edges = this.edgesOnStage;
    dataset.threshold = String(style.threshold);
    dataset.edgesOnStage = String(edges ? edges.length : data.numEdges);
    dataset.edgesDrawn = String(data.countKept(style.threshold, edges));
    dataset.edgesKept = String(data.countKept(style.threshold));
    dataset.nodesOnStage = String(this.graph.order);
    dataset.selected = this.selected === null ? "" : data.id(this.selected);
  }

  kindOf(node) {
    const { data } = this;
    if (!data.isMultilabel) {
      return this.colourBy === "label" ? data.label[node] : data.prediction[node];
    }
    const both = data.labels[node * data.labelColumns + this.labelColumn];
    return this.colourBy === "label" ? both & 1 : both >> 1;
  }

  isWrong(node) {
    const { data } = this;
    if (data.isMultilabel) {
      const both = data.labels[node * data.labelColumns + this.labelColumn];
      return (both & 1) !== both >> 1;
    }
    return data.label[node] >= 0 && data.label[node] !== data.prediction[node];
  }

  #look(node, attributes) {
    const kind = this.kindOf(node);
    const isFaded =
      (this.alone !== null && kind !== this.alone) ||
      (this.selected !== null && this.data.isWhole && !this.#isNeighbour(node));
    const isChosen = node === this.selected;
    return {
      ...attributes,
      color: kind < 0 ? this.plain : this.colours[kind % COLOURS],
      shape: kind < 0 ? 0 : kind % SHAPES,
      ring: this.isWrong(node),
      faded: isFaded,
      highlighted: isChosen,
      label: this.showIds || isChosen ? attributes.label : "",
      forceLabel: isChosen,
      zIndex: isChosen ? 2 : isFaded ? 0 : 1,
    };
  }

  #emphasis(edge) {
    const { data } = this;
    const ends = [data.src[edge], data.dst[edge]];
    if (this.alone !== null && !ends.every((node) => this.kindOf(node) === this.alone)) return 0;
    if (this.selected === null) return 1;
    if (ends.includes(this.selected)) return data.isWhole ? 2 : 1;
    return data.isWhole ? 0 : 0.4;
  }

  #isNeighbour(node) {
    if (this.neighboursOf !== this.selected) {
      const { data, selected } = this;
      this.neighboursOf = selected;
      this.neighbours = new Set([
        selected,
        ...data.edgesInto(selected).map((edge) => data.src[edge]),
        ...data.edgesFrom(selected).map((edge) => data.dst[edge]),
      ]);
    }
    return this.neighbours.has(node);
  }

  #wholeGraph() {
    const { data } = this;
    const graph = new Graph({ type: "directed", allowSelfLoops: false });
    for (let node = 0; node < data.numNodes; node++) {
      this.#addNode(graph, node, data.x[node], data.y[node], data.numNodes);
    }
    for (const edge of spreadOut(data.numEdges)) this.#addEdge(graph, edge);
    return graph;
  }

  /**
   * A node with its neighbours around it: those with the most attention in the inner
   * rings, removed ones outside, sorted by class. Of very many, the best and the worst.
   */
  #egoGraph(centre) {
    const { data } = this;
    const best = new Map();
    const meet = (node, score) => best.set(node, Math.max(score, best.get(node) ?? -Infinity));
    for (const edge of data.edgesInto(centre)) meet(data.src[edge], data.score[edge]);
    if (!data.isSymmetric) {
      for (const edge of data.edgesFrom(centre)) meet(data.dst[edge], data.score[edge]);
    }
    let around = [...best.keys()].sort((a, b) => best.get(b) - best.get(a) || a - b);
    this.neighbourCount = around.length;
    if (around.length > MOST_NEIGHBOURS) {
      const half = MOST_NEIGHBOURS / 2;
      around = [...around.slice(0, half), ...around.slice(-half)];
    }
    this.neighboursShown = around.length;
    const shown = new Set([centre, ...around]);
    const graph = new Graph({ type: "directed", allowSelfLoops: false });
    this.#addNode(graph, centre, 0, 0, shown.size);
    const rings = [
      around.filter((node) => best.get(node) > data.threshold),
      around.filter((node) => !(best.get(node) > data.threshold)),
    ];
    let radius = 0.42;
    for (const ring of rings) {
      const rows = Math.max(1, Math.ceil(ring.length / 45));
      const sorted = [...ring].sort((a, b) => this.kindOf(a) - this.kindOf(b) || a - b);
      sorted.forEach((node, place) => {
        const angle = (2 * Math.PI * (place + 0.5)) / sorted.length - Math.PI / 2;
        const reach = radius + 0.15 * (place % rows);
        this.#addNode(graph, node, reach * Math.cos(angle), reach * Math.sin(angle), shown.size);
      });
      if (ring.length) radius += 0.15 * rows + 0.28;
    }
    // Edges of the centre are never left out; those among its neighbours may be.
    const own = [...data.edgesInto(centre), ...data.edgesFrom(centre)];
    const edges = own.filter((e) => shown.has(data.src[e]) && shown.has(data.dst[e]));
    for (const node of around) {
      for (const edge of data.edgesInto(node)) {
        if (edges.length >= MOST_EGO_EDGES) break;
        if (shown.has(data.src[edge]) && data.src[edge] !== centre) edges.push(edge);
      }
    }
    this.egoEdges = edges;
    for (const edge of edges) this.#addEdge(graph, edge);
    return graph;
  }

  #show(graph) {
    this.graph = graph;
    this.sigma.setGraph(graph);
    this.readTheme();
    this.fit();
  }

  #addNode(graph, node, x, y, number) {
    const { data } = this;
    this.largest ??= Math.max(data.degree(data.hub), 1);
    const least = Math.min(5.5, Math.max(1.7, 110 / Math.sqrt(number)));
    graph.addNode(String(node), {
      x,
      y,
      size: least * (1 + 2.2 * Math.sqrt(data.degree(node) / this.largest)),
      label: isolated(shorten(data.id(node), 24)),
    });
  }

  #addEdge(graph, edge) {
    const { data } = this;
    const [src, dst] = [data.src[edge], data.dst[edge]];
    const hasReverse = data.findEdge(dst, src) >= 0;
    if (data.isSymmetric && hasReverse && src > dst) return;
    graph.addDirectedEdgeWithKey(String(edge), String(src), String(dst), {
      position: edge,
      half: hasReverse && !data.isSymmetric,
      taper: !hasReverse,
    });
  }

  /** The node at a place of the stage, null without; of several, the one it is deepest in. */
  #nodeAt(place) {
    const { sigma } = this;
    const at = sigma.viewportToFramedGraph(place);
    const [zero, one] = [0, 1].map((x) => sigma.framedGraphToViewport({ x, y: 0 }));
    const pixels = Math.hypot(one.x - zero.x, one.y - zero.y);
    const larger = sigma.scaleSize(1);
    let [found, deepest] = [null, 0];
    this.graph.forEachNode((key) => {
      const node = sigma.getNodeDisplayData(key);
      const depth = node.size * larger + 1 - pixels * Math.hypot(node.x - at.x, node.y - at.y);
      if (depth > deepest) [found, deepest] = [key, depth];
    });
    return found;
  }

  #move(state) {
    const camera = this.sigma.getCamera();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) camera.setState(state);
    else camera.animate(state, { duration: 260 });
  }

  #drawLabel(context, node, settings) {
    if (!node.label || node.faded) return;
    context.font = `${settings.labelWeight} ${settings.labelSize}px ${settings.labelFont}`;
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.strokeStyle = this.text.halo;
    context.fillStyle = this.text.ink;
    const [x, y] = [node.x + node.size + 3, node.y + settings.labelSize / 3];
    context.strokeText(node.label, x, y);
    context.fillText(node.label, x, y);
  }

  #drawHover(context, node, settings) {
    const text = node.label || "";
    context.font = `600 ${settings.labelSize}px ${settings.labelFont}`;
    const width = text ? context.measureText(text).width + 10 : 0;
    context.fillStyle = this.text.card;
    context.strokeStyle = this.text.focus;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(node.x, node.y, node.size + 4, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
    if (!text) return;
    context.beginPath();
    context.roundRect(node.x + node.size + 7, node.y - 11, width, 22, 6);
    context.fill();
    context.stroke();
    context.fillStyle = this.text.ink;
    context.fillText(text, node.x + node.size + 12, node.y + settings.labelSize / 3);
  }
}
