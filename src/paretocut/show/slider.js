// Moves the cut in the picture that Python drew. It computes nothing: where a cut lies, and what it
// is worth, is looked up in what Python sent, one value for each cut 0..n.

function element(parent, name, attributes = {}, text = "") {
  const made = document.createElement(name);
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
  const curves = model.get("curves"), places = model.get("places"), n = places.length - 1;
  el.innerHTML = model.get("picture");
  // The same picture stands above for pages that cannot run this.
  for (const still of document.querySelectorAll(`[data-still="${model.get("name")}"]`)) still.hidden = true;
  const box = el.firstElementChild, svg = box.querySelector("svg");
  const dots = [...box.querySelectorAll("circle")], line = box.querySelector("[data-cut]");
  const colour = line?.querySelector("path").getAttribute("stroke");
  // Keys stay here: JupyterLab would move between cells and take the focus away.
  box.addEventListener("keydown", (event) => event.stopPropagation());

  const range = element(box, "input", {
    type: "range", min: 0, max: n, step: 1, "aria-label": "Number of results kept",
    style: `width:100%;margin:.4em 0;accent-color:${colour}`,
  });
  const bar = element(box, "div", { style: "display:flex;gap:.2em 1em;align-items:baseline;flex-wrap:wrap" });
  const kept = element(bar, "strong", { "aria-live": "polite" });
  const cells = Object.keys(curves).map((key) => {
    const cell = element(bar, "span", {}, `${key} `);
    return [key, element(cell, "b", { "data-curve": key })];
  });
  const back = element(bar, "button", {
    type: "button",
    style: "font:inherit;color:inherit;background:none;border:1px solid rgb(128 128 128/60%);border-radius:8px;padding:2px 10px;cursor:pointer",
  }, `back to ${model.get("chosen")}`);

  function place(k) {
    const [path, label] = line.children, [, top, bottom] = path.getAttribute("d").match(/ (\d+)V(\d+)/);
    const at = places[k], late = 2 * at > svg.viewBox.baseVal.width;
    path.setAttribute("d", `M${at} ${top}V${bottom}`);
    label.textContent = `cut: ${k}`;
    // Scores fall, so there is room for words at the bottom on the left, on top on the right.
    label.setAttribute("x", late ? at - 6 : at + 6);
    label.setAttribute("y", late ? Number(top) + 12 : bottom - 8);
    label.setAttribute("text-anchor", late ? "end" : "start");
  }
  function draw() {
    const k = model.get("k");
    if (line) place(k);
    for (const dot of dots) {
      const inside = Number(dot.dataset.rank) <= k;
      dot.setAttribute("fill", inside ? colour : "currentColor");
      dot.setAttribute("fill-opacity", inside ? 1 : 0.55);
    }
    range.value = k;
    range.setAttribute("aria-valuetext", `${k} of ${n} kept`);
    kept.textContent = `${k} of ${n} kept`;
    for (const [key, cell] of cells) cell.textContent = shown(curves[key][k]);
    back.disabled = k === model.get("chosen");
  }
  function choose(k) {
    model.set("k", k);
    model.save_changes();
  }
  function drag(event) {
    const frame = svg.getBoundingClientRect();
    const at = ((event.clientX - frame.left) / frame.width) * svg.viewBox.baseVal.width;
    const next = places.findIndex((place) => place >= at);
    if (next < 0) choose(n);
    else choose(next > 0 && at - places[next - 1] < places[next] - at ? next - 1 : next);
  }
  svg?.addEventListener("pointerdown", (event) => {
    svg.setPointerCapture(event.pointerId);
    drag(event);
  });
  svg?.addEventListener("pointermove", (event) => {
    if (svg.hasPointerCapture(event.pointerId)) drag(event);
  });
  if (svg) Object.assign(svg.style, { cursor: "ew-resize", touchAction: "none" });
  range.addEventListener("input", () => choose(Number(range.value)));
  back.addEventListener("click", () => choose(model.get("chosen")));
  model.on("change:k", draw);
  draw();
  return () => model.off("change:k", draw);
}

export default { render };
