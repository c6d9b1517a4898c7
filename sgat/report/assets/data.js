// The graph as arrays. Edges are ordered by target; an edge is known by its position.

/** Text of the user, cut off after so many characters and kept apart in direction. */
function shorten(text, longest = 28) {
  const signs = Array.from(text);
  return signs.length <= longest ? text : signs.slice(0, longest - 1).join("") + "…";
}

function unpack(text, Kind) {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  return new Kind(bytes.buffer);
}

class GraphData {
  constructor(view) {
    Object.assign(this, {
      isWhole: view.whole,
      isSymmetric: view.symmetric,
      usesEdges: view.usesEdges,
      isMultilabel: view.multilabel,
      // Scores are 32-bit numbers; the threshold is compared as one, as in training.
      threshold: Math.fround(view.threshold),
      odds: view.odds,
      oddsLine: view.oddsLine,
      classes: view.classes,
      numNodes: view.nodes,
      numEdges: view.edges,
      ids: view.ids,
      longestId: view.longestId,
      split: unpack(view.split, Uint8Array),
      pointer: unpack(view.pointer, Int32Array),
      // Edges into each node that are not in the page.
      leftOut: view.leftOut ? unpack(view.leftOut, Int32Array) : null,
      isPart: view.edges < view.allEdges,
      src: unpack(view.src, Int32Array),
      trainedScore: unpack(view.score, Float32Array),
    });
    if (view.x) {
      this.x = unpack(view.x, Float32Array);
      this.y = unpack(view.y, Float32Array);
    }
    if (view.multilabel) {
      this.labels = unpack(view.labels, Uint8Array);
      this.labelColumns = view.labelColumns;
    } else {
      this.label = unpack(view.label, Int16Array);
      this.trainedPrediction = unpack(view.prediction, Int16Array);
      this.confidence = unpack(view.confidence, Float32Array);
    }
    this.snapshots = (view.snapshots?.epoch ?? []).map((epoch, place) => ({
      epoch,
      score: unpack(view.snapshots.score[place], Float32Array),
      prediction: view.snapshots.prediction
        ? unpack(view.snapshots.prediction[place], Int16Array)
        : null,
    }));
    this.score = this.trainedScore;
    this.prediction = this.trainedPrediction;
    this.dst = new Int32Array(this.numEdges);
    for (let node = 0; node < this.numNodes; node++) {
      this.dst.fill(node, this.pointer[node], this.pointer[node + 1]);
    }
    this.#indexSources();
  }

  /** The state of an epoch; without one, that of the trained model. */
  show(snapshot) {
    this.score = snapshot ? snapshot.score : this.trainedScore;
    this.prediction = snapshot?.prediction ?? this.trainedPrediction;
  }

  id(node) {
    return this.ids ? this.ids[node] : String(node);
  }

  /** The probability that a score stands for, as text. */
  chance(score) {
    const [scale, shift] = this.oddsLine;
    const found = 1 / (1 + Math.exp(-scale * score - shift));
    if (found > 0 && found < 0.001) return "< 0.001";
    return found < 1 && found > 0.999 ? "> 0.999" : decimals(found, 3);
  }

  isKept(edge, threshold) {
    return this.score[edge] > threshold;
  }

  countKept(threshold, edges = null) {
    let kept = 0;
    if (edges) {
      for (const edge of edges) kept += this.score[edge] > threshold;
    } else {
      for (let edge = 0; edge < this.numEdges; edge++) kept += this.score[edge] > threshold;
    }
    return kept;
  }

  /** Positions of the edges into a node. */
  edgesInto(node) {
    const edges = [];
    for (let e = this.pointer[node]; e < this.pointer[node + 1]; e++) edges.push(e);
    return edges;
  }

  /** Positions of the edges out of a node. */
  edgesFrom(node) {
    return Array.from(
      this.bySource.subarray(this.sourcePointer[node], this.sourcePointer[node + 1]),
    );
  }

  degree(node) {
    const into = this.pointer[node + 1] - this.pointer[node];
    const from = this.sourcePointer[node + 1] - this.sourcePointer[node];
    return this.isSymmetric ? into : into + from;
  }

  /** The edge from one node to another; -1 if there is none. */
  findEdge(src, dst) {
    let [low, high] = [this.pointer[dst], this.pointer[dst + 1] - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (this.src[middle] === src) return middle;
      if (this.src[middle] < src) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  /** Nodes whose id holds a text: the same id first, then beginnings, then the rest. */
  search(text, most) {
    const whole = this.longestId ? shorten(text, this.longestId) : text;
    const wanted = whole.toLowerCase();
    const same = [], starting = [], holding = [];
    for (let node = 0; node < this.numNodes; node++) {
      const id = this.id(node);
      if (id === whole) same.push(node);
      else if (holding.length + starting.length < 50_000) {
        const found = id.toLowerCase().indexOf(wanted);
        if (found === 0) starting.push(node);
        else if (found > 0) holding.push(node);
      }
    }
    const all = [...same, ...starting, ...holding];
    return { nodes: all.slice(0, most), count: all.length, isSame: same.length > 0 };
  }

  get hub() {
    let best = 0;
    for (let node = 1; node < this.numNodes; node++) {
      if (this.degree(node) > this.degree(best)) best = node;
    }
    return best;
  }

  #indexSources() {
    const pointer = new Int32Array(this.numNodes + 1);
    for (const node of this.src) pointer[node + 1]++;
    for (let node = 0; node < this.numNodes; node++) pointer[node + 1] += pointer[node];
    const next = pointer.slice();
    this.bySource = new Int32Array(this.numEdges);
    for (let edge = 0; edge < this.numEdges; edge++) {
      this.bySource[next[this.src[edge]]++] = edge;
    }
    this.sourcePointer = pointer;
  }
}
