// Draws the scores of one list and a cut to drag. It computes nothing: every number is looked up in
// what Python sent, one value for each cut 0..n.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 560, HEIGHT = 220, LEFT = 14, RIGHT = 14, TOP = 12, BOTTOM = 12;
const KEPT = "#D55E00", RELEVANT = "#009E73";

function element(parent, name, attributes = {}, text = "") {
  const made = name in { svg: 1, path: 1, circle: 1, title: 1, desc: 1 }
    ? document.createElementNS(SVG, name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  parent.append(made);
  return made;
}

function shown(value) {
  if (value === null || value === undefined) return "none";
  return String(Number(value.toPrecision(4)));
}

function render({ model, el }) {
  const scores = model.get("scores"), relevant = model.get("relevant");
  const curves = model.get("curves"), n = scores.length;
  const box = element(el, "div", { style: "max-width:40em;color:inherit;font-size:14px" });
  // Keys stay here: JupyterLab would move between cells and take the focus away.
  box.addEventListener("keydown", (event) => event.stopPropagation());
  element(box, "div", { style: "margin-bottom:.3em" }, model.get("reason"));

  // Ranks of long lists are on a logarithmic axis, so that the top has room.
  const log = n > 100, span = Math.log(2 * n + 1);
  const x = (place) =>
    LEFT + (WIDTH - LEFT - RIGHT) * (log ? Math.log(2 * place + 1) / span : place / Math.max(n, 1));
  const place = (pixel) => {
    const share = Math.min(1, Math.max(0, (pixel - LEFT) / (WIDTH - LEFT - RIGHT)));
    return log ? (Math.exp(share * span) - 1) / 2 : share * n;
  };
  // Halves, because the difference of two numbers may be too large for one.
  const best = scores[0] / 2, worst = scores[n - 1] / 2;
  const y = (score) =>
    TOP + (HEIGHT - TOP - BOTTOM) * (best === worst ? 0.5 : (best - score / 2) / (best - worst));

  const svg = element(box, "svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true",
    style: "width:100%;height:auto;display:block;cursor:ew-resize;touch-action:none",
  });
  element(svg, "path", {
    d: `M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH - RIGHT}`,
    stroke: "currentColor", "stroke-opacity": 0.4, fill: "none",
  });
  const dots = [];
  for (let i = 0, last = -9; i < n; i++) {
    const at = x(i + 0.5);
    // Dots that would cover each other are left out; those of relevant results stay.
    if (at - last < 1 && i < n - 1 && !(relevant && relevant[i])) continue;
    last = at;
    const dot = element(svg, "circle", { cx: at, cy: y(scores[i]), r: 3.5 });
    if (relevant && relevant[i]) {
      dot.setAttribute("stroke", RELEVANT);
      dot.setAttribute("stroke-width", 1.6);
    }
    dots.push([i, dot]);
  }
  const line = element(svg, "path", { stroke: KEPT, "stroke-width": 2 });

  const name = "Number of results kept";
  const range = element(box, "input", {
    type: "range", min: 0, max: n, step: 1, "aria-label": name, style: `width:100%;accent-color:${KEPT}`,
  });
  const bar = element(box, "div", { style: "display:flex;gap:1em;align-items:baseline;flex-wrap:wrap" });
  const kept = element(bar, "strong", { "aria-live": "polite" });
  const cells = Object.keys(curves).map((key) => {
    const cell = element(bar, "span", {}, `${key} `);
    return [key, element(cell, "b", { "data-curve": key })];
  });
  const back = element(bar, "button", { type: "button" }, `back to ${model.get("chosen")}`);
  if (relevant) element(box, "div", { style: "opacity:.7" }, "green rings: relevant results");

  function draw() {
    const k = model.get("k"), at = x(k);
    line.setAttribute("d", `M${at} ${TOP}V${HEIGHT - BOTTOM}`);
    for (const [i, dot] of dots) {
      dot.setAttribute("fill", i < k ? KEPT : "currentColor");
      dot.setAttribute("fill-opacity", i < k ? 1 : 0.5);
    }
    range.value = k;
    range.setAttribute("aria-valuetext", `${k} of ${n} kept`);
    kept.textContent = `${k} of ${n} kept`;
    for (const [key, cell] of cells) cell.textContent = shown(curves[key][k]);
    back.disabled = k === model.get("chosen");
  }
  function choose(k) {
    model.set("k", Math.max(0, Math.min(n, Math.round(k))));
    model.save_changes();
  }
  function drag(event) {
    const frame = svg.getBoundingClientRect();
    choose(place(((event.clientX - frame.left) / frame.width) * WIDTH));
  }
  svg.addEventListener("pointerdown", (event) => {
    svg.setPointerCapture(event.pointerId);
    drag(event);
  });
  svg.addEventListener("pointermove", (event) => {
    if (svg.hasPointerCapture(event.pointerId)) drag(event);
  });
  range.addEventListener("input", () => choose(Number(range.value)));
  back.addEventListener("click", () => choose(model.get("chosen")));
  model.on("change:k", draw);
  draw();
  return () => model.off("change:k", draw);
}

export default { render };
