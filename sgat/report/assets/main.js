// Puts the page together once it is there.

function byId(id) {
  return document.getElementById(id);
}

function readData(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

function bindTheme(onChange) {
  const root = document.documentElement;
  const button = byId("theme");
  const show = () => {
    const isDark = root.dataset.theme === "dark";
    button.setAttribute("aria-pressed", String(isDark));
  };
  button.addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("sgat-report-theme", root.dataset.theme);
    } catch {
      // A page opened from disk may not be allowed to remember.
    }
    show();
    onChange();
  });
  show();
}

function hasWebGL() {
  const canvas = document.createElement("canvas");
  return Boolean(canvas.getContext("webgl2") ?? canvas.getContext("webgl"));
}

const charts = readData("charts");
for (const [key, chart] of Object.entries(charts)) {
  const svg = byId(`chart-${key}`);
  if (svg) new ChartCursor(svg, chart, byId("tooltip"));
}
document.querySelectorAll("table.sortable").forEach(makeSortable);
byId("print").addEventListener("click", () => window.print());

let controls = null;
if (!byId("graph")) {
  // A page without a drawing.
} else if (hasWebGL()) {
  const view = readData("graph-data");
  controls = new Controls(new GraphData(view), readData("removal-curve"));
} else {
  document.documentElement.classList.add("no-webgl");
}
bindTheme(() => controls?.drawing.retheme());
document.documentElement.dataset.ready = "true";
