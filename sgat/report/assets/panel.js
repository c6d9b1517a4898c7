// What is known of a chosen node. All text of the user goes in as text, never as HTML.

const ROWS = 200;
const SPLIT_NAMES = ["none", "training", "validation", "test"];

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** A name of the user: shortened, with the whole of it in the tooltip. */
function named(text, longest = 28) {
  const short = shorten(text, longest);
  return element("bdi", short === text ? {} : { title: text }, short);
}

/** The mark of a class, as in the legend. */
function mark(kind) {
  const found = document.querySelector(`#legend button[data-class="${kind}"] svg`);
  return found ? found.cloneNode(true) : element("span");
}

class Panel {
  constructor(root, data, { onClose, onChoose }) {
    Object.assign(this, { root, data, onClose, onChoose });
  }

  hide() {
    this.root.hidden = true;
    this.root.replaceChildren();
  }

  show(node, threshold, drawing) {
    const { data } = this;
    const into = data.edgesInto(node);
    const from = data.isSymmetric ? [] : data.edgesFrom(node);
    const kept = data.countKept(threshold, into);
    const close = element("button", { type: "button", class: "close", "aria-label": "Close" }, "×");
    close.addEventListener("click", () => this.onClose());
    this.root.replaceChildren(
      close,
      element("h3", {}, named(data.id(node), 60)),
      this.#facts(node, into, from, kept),
      ...this.#list(this.#sources(kept), into, (e) => data.src[e], threshold, drawing),
      ...this.#list(this.#targets(data.countKept(threshold, from)), from, (e) => data.dst[e], threshold, drawing),
    );
    this.root.hidden = false;
  }

  #sources(kept) {
    if (!this.data.usesEdges || !kept) return "No messages from";
    return this.data.isSymmetric ? "Neighbours" : "Messages from";
  }

  #targets(kept) {
    return this.data.usesEdges && kept ? "Messages to" : "No messages to";
  }

  #facts(node, into, from, kept) {
    const { data } = this;
    const facts = [];
    if (data.isMultilabel) {
      facts.push(["Predicted", this.#labelNames(node, 2)], ["Labels", this.#labelNames(node, 1)]);
    } else {
      const predicted = data.prediction[node];
      const sure = data.prediction === data.trainedPrediction ? data.confidence[node] : null;
      const share = sure === null ? "" : ` (${decimals(100 * sure, 1)} %)`;
      facts.push(["Prediction", [named(data.classes[predicted]), share]]);
      const label = data.label[node];
      const verdict = label < 0 ? "" : label === predicted ? " ✓ right" : " ✗ wrong";
      facts.push(["Label", label < 0 ? ["unknown"] : [named(data.classes[label]), verdict]]);
    }
    facts.push(["Split", [SPLIT_NAMES[data.split[node]]]]);
    const say = (number) => number.toLocaleString("en");
    const out = data.leftOut?.[node];
    facts.push(["Edges in", [out ? `${say(out)}, left out of this page` : `${say(kept)} of ${say(into.length)} kept`]]);
    if (!data.isSymmetric) facts.push(["Edges out", [data.isPart ? `${say(from.length)} in this page` : say(from.length)]]);
    const rows = facts.flatMap(([key, value]) => [element("dt", {}, key), element("dd", {}, ...value)]);
    return element("dl", {}, ...rows);
  }

  #labelNames(node, bit) {
    const { data } = this;
    const names = [];
    for (let k = 0; k < data.labelColumns; k++) {
      if (data.labels[node * data.labelColumns + k] & bit) names.push(data.classes[k]);
    }
    if (!names.length) return ["none"];
    const shown = names.slice(0, 12).flatMap((name, k) => (k ? [", ", named(name)] : [named(name)]));
    return names.length > 12 ? [...shown, ` and ${names.length - 12} more`] : shown;
  }

  #list(title, edges, other, threshold, drawing) {
    if (!edges.length) return [];
    const { data } = this;
    const sorted = [...edges].sort((a, b) => data.score[b] - data.score[a] || a - b);
    const items = sorted.slice(0, ROWS).map((edge) => {
      const node = other(edge);
      const isKept = data.isKept(edge, threshold);
      const button = element(
        "button",
        { type: "button", onclick: () => this.onChoose(node) },
        element("span", { "aria-label": isKept ? "kept" : "removed", role: "img" }, isKept ? "✓" : "✗"),
        mark(drawing.kindOf(node)),
        named(data.id(node)),
        element("span", { class: "score", title: data.odds }, data.chance(data.score[edge])),
      );
      return element("li", { class: isKept ? "kept" : "removed" }, button);
    });
    const more = edges.length - items.length;
    if (more > 0) items.push(element("li", {}, `and ${more.toLocaleString("en")} more`));
    return [element("strong", {}, `${title} · ${data.odds}`), element("ul", {}, ...items)];
  }
}
