// Values beside the pointer, or beside the place the arrow keys have reached.

function decimals(value, digits = 2) {
  return value.toFixed(digits).replace("-", "−");
}

function formatted(value, unit) {
  if (value === null || value === undefined) return "–";
  if (unit === "share") return `${decimals(100 * value, 1)} %`;
  if (Number.isInteger(value)) return value.toLocaleString("en").replace("-", "−");
  return String(Number(value.toPrecision(4))).replace("-", "−");
}

class ChartCursor {
  constructor(svg, chart, tooltip) {
    Object.assign(this, { svg, chart, tooltip, place: -1 });
    const [low, high, start, end] = chart.xAxis ?? [];
    this.places = chart.places ?? chart.x.map((x) => start + ((x - low) / (high - low)) * (end - start));
    if (!this.places.length) return;
    svg.addEventListener("pointermove", (event) => this.#point(event));
    svg.addEventListener("pointerleave", () => this.hide());
    svg.addEventListener("blur", () => this.hide());
    svg.addEventListener("keydown", (event) => this.#key(event));
  }

  hide() {
    this.tooltip.hidden = true;
    this.svg.querySelector(".cursor").replaceChildren();
  }

  #point(event) {
    const box = this.svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * this.svg.viewBox.baseVal.width;
    let best = 0;
    this.places.forEach((place, k) => {
      if (Math.abs(place - x) < Math.abs(this.places[best] - x)) best = k;
    });
    this.#show(best);
  }

  #key(event) {
    const last = this.places.length - 1;
    const next = { ArrowRight: this.place + 1, ArrowLeft: this.place - 1, Home: 0, End: last }[event.key];
    if (event.key === "Escape") this.hide();
    if (next === undefined) return;
    event.preventDefault();
    this.#show(Math.min(Math.max(next, 0), last));
  }

  #show(place) {
    this.place = place;
    const { chart, svg, tooltip } = this;
    const head = chart.kind === "line" ? formatted(chart.x[place], chart.xUnit) : chart.labels[place];
    const lines = chart.names.map((name, k) => `${name}: ${formatted(chart.y[k][place], chart.yUnit)}`);
    tooltip.textContent = [`${chart.xTitle} ${head}`, ...lines].join("\n");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", `M${this.places[place]} 26V${svg.viewBox.baseVal.height - 44}`);
    svg.querySelector(".cursor").replaceChildren(path);
    tooltip.hidden = false;
    const box = svg.getBoundingClientRect();
    const x = box.left + (this.places[place] / svg.viewBox.baseVal.width) * box.width;
    const isLeft = x < innerWidth / 2;
    tooltip.style.left = isLeft ? `${x + 12}px` : "auto";
    tooltip.style.right = isLeft ? "auto" : `${innerWidth - x + 12}px`;
    tooltip.style.top = `${Math.max(box.top + 10, 8)}px`;
  }
}
