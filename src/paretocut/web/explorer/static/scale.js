// Scales, ticks and axes.

import { el, number, svg } from "./dom.js";

export function linear([a, b], [from, to]) {
  const span = b - a || 1;
  const scale = (x) => from + ((x - a) / span) * (to - from);
  scale.invert = (place) => a + ((place - from) / (to - from || 1)) * span;
  scale.ticks = (count) => niceTicks(a, b, count);
  return scale;
}

export function logarithmic([a, b], [from, to]) {
  const inner = linear([Math.log(a), Math.log(b)], [from, to]);
  const scale = (x) => inner(Math.log(Math.max(x, a / 2)));
  scale.invert = (place) => Math.exp(inner.invert(place));
  scale.ticks = () => {
    const found = [];
    for (let ten = 1; ten <= b; ten *= 10) for (const of of [1, 2, 5]) if (ten * of >= a && ten * of <= b) found.push(ten * of);
    return found.length > 8 ? found.filter((x) => /^1/.test(x)) : found;
  };
  return scale;
}

export function niceTicks(a, b, count = 5) {
  const low = Math.min(a, b), high = Math.max(a, b);
  const rough = (high - low) / Math.max(count, 1);
  if (!(rough > 0)) return [low];
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * ten).find((s) => s >= rough) ?? ten * 10;
  const ticks = [];
  for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + step * 1e-9; x += step) ticks.push(Number(x.toPrecision(12)));
  return ticks;
}

// A path through points; gaps where a value is not there.
export function line(xs, ys) {
  let path = "", open = false;
  xs.forEach((x, i) => {
    if (ys[i] === null || !Number.isFinite(ys[i])) { open = false; return; }
    path += `${open ? "L" : "M"}${x.toFixed(1)} ${ys[i].toFixed(1)}`;
    open = true;
  });
  return path;
}

// Dots as strokes of no length: thousands of them are one element.
export const dots = (xs, ys) => xs.map((x, i) => `M${x.toFixed(1)} ${ys[i].toFixed(1)}h0`).join("");

export function axisX(scale, ticks, { top, bottom, label, format = number }) {
  return svg("g", { class: "axis" },
    ticks.map((t) => [
      svg("line", { class: "grid", x1: scale(t), x2: scale(t), y1: top, y2: bottom }),
      svg("text", { x: scale(t), y: bottom + 15, "text-anchor": "middle" }, format(t)),
    ]),
    label && svg("text", { class: "caption", x: label.x, y: bottom + 30, "text-anchor": label.anchor ?? "middle" }, label.text),
  );
}

export function axisY(scale, ticks, { left, right, label, format = number }) {
  return svg("g", { class: "axis" },
    ticks.map((t) => [
      svg("line", { class: "grid", x1: left, x2: right, y1: scale(t), y2: scale(t) }),
      svg("text", { x: left - 7, y: scale(t) + 3.5, "text-anchor": "end" }, format(t)),
    ]),
    label && svg("text", { class: "caption", x: left - 7 > 60 ? left : 2, y: label.y }, label.text),
  );
}

// A picture that is drawn anew when its place changes width.
export function picture(label, draw, attributes = {}) {
  const host = el("div", { class: "picture", ...attributes });
  let drawn = 0;
  const again = (force = false) => {
    const width = Math.floor(host.clientWidth);
    if (width < 40 || (width === drawn && !force)) return;
    drawn = width;
    const image = draw(width);
    if (label && !image.hasAttribute("role")) {
      image.setAttribute("role", "img");
      image.setAttribute("aria-label", label);
    }
    host.replaceChildren(image);
  };
  new ResizeObserver(() => again()).observe(host);
  host.redraw = () => again(true);
  return host;
}

export const canvas = (width, height, ...children) =>
  svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, ...children);

// Drag a slider in a picture, with the mouse, a finger or the keyboard. A finger may mean to
// scroll: it moves the slider by a tap, or once it goes sideways.
export function draggable(image, slider, { moved, stepped, reset }) {
  let from = null, sideways = false;
  const to = (event) => {
    const box = image.getBoundingClientRect();
    moved(((event.clientX - box.left) / box.width) * image.viewBox.baseVal.width);
  };
  image.addEventListener("pointerdown", (event) => {
    if (event.button > 0) return;
    event.preventDefault();
    image.setPointerCapture(event.pointerId);
    image.classList.add("dragged");
    slider.focus({ preventScroll: true });
    from = [event.clientX, event.clientY];
    sideways = event.pointerType !== "touch";
    if (sideways) to(event);
  });
  image.addEventListener("pointermove", (event) => {
    if (!image.hasPointerCapture(event.pointerId)) return;
    const [dx, dy] = [event.clientX - from[0], event.clientY - from[1]].map(Math.abs);
    sideways ||= dx > 8 && dx > dy;
    if (sideways) to(event);
  });
  image.addEventListener("pointerup", (event) => {
    image.classList.remove("dragged");
    if (!sideways && from !== null && Math.hypot(event.clientX - from[0], event.clientY - from[1]) < 8) to(event);
    from = null;
  });
  image.addEventListener("pointercancel", () => { from = null; image.classList.remove("dragged"); });
  slider.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") reset();
    else if (event.key in steps) stepped(steps[event.key]);
    else return;
    event.preventDefault();
  });
}
