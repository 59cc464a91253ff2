// What a gate is for: the best scores of questions with and without an answer, and a threshold to drag.

import { el, number, share, svg, whole } from "./dom.js";
import { axisX, canvas, draggable, linear, picture } from "./scale.js";
import { inReport, loadCheck, loadGate } from "./source.js";
import { state, update } from "./state.js";
import { takeAway } from "./takeaway.js";

const BINS = 48;

function told({ count, total, interval: [low, high] }, others = false) {
  const [n, from, to] = others ? [total - count, 1 - high, 1 - low] : [count, low, high];
  return `${whole(n)} of ${whole(total)} questions (${share(n / total)}; ${share(from)} to ${share(to)})`;
}

export function gateChoice(run) {
  const groups = [["with an answer", run.gate.answered], ["without an answer", run.gate.unanswered]];
  const up = run.higher_is_better, best = up ? "best score" : "best distance";
  const all = groups.flatMap(([, tops]) => tops);
  const low = all.reduce((a, b) => Math.min(a, b)), high = all.reduce((a, b) => Math.max(a, b));
  const step = (high - low || 1) / 200;
  const words = el("p", { id: "gate-words", role: "status" });
  let move = () => {};
  const at = () => (inReport ? null : state.gate) ?? run.gate.threshold;
  let said = null, asking = false;

  function set(threshold) {
    update({ gate: threshold === null ? null : Number(Math.min(Math.max(threshold, low), high + step).toPrecision(5)) });
    paint();
  }
  function paint() {
    move();
    say();
  }
  async function say() {
    if (asking) return; // the last place is asked for when the answer comes
    asking = true;
    try {
      while (said !== at()) {
        const place = at(), check = place === run.gate.threshold ? run.gate.check : await loadCheck(place);
        said = place;
        words.replaceChildren("A gate at ", el("b", {}, number(place, 4)), ` keeps ${told(check.left_empty, true)} with an answer and refuses ${told(check.refused)} without one. `
          + "The ranges are 95 % intervals for all such questions.");
        move();
      }
    } catch (error) {
      words.textContent = error.message;
    } finally {
      asking = false;
    }
  }
  const chart = picture(null, (width) => {
    const left = 8, right = width - 8, row = 84, bottom = 2 * row + 12;
    const x = linear(up ? [low - step, high + step] : [high + step, low - step], [left, right]);
    const bars = groups.map(([name, tops], j) => {
      const counts = new Array(BINS).fill(0);
      for (const top of tops) counts[Math.min(Math.floor(((x(top) - left) / (right - left)) * BINS), BINS - 1)] += 1;
      const most = Math.max(...counts), size = (right - left) / BINS, floor = (j + 1) * row + 6;
      const path = counts.map((count, i) => `M${(left + i * size + 0.5).toFixed(1)} ${floor}v${(-count / most * (row - 34)).toFixed(1)}h${(size - 1).toFixed(1)}V${floor}Z`).join("");
      return svg("g", {}, svg("path", { class: "count-bar", d: path }), svg("path", { class: j ? "wrong-bar" : "good-bar", d: path, "clip-path": "url(#gate-clip)" }),
        svg("text", { class: "row-name", x: left, y: floor - row + 18 }, name));
    });
    const clip = svg("rect", { y: 0, height: bottom });
    const line = svg("line", { class: "cut-line", y1: 0, y2: bottom });
    const grip = svg("g", { class: "grip" }, svg("rect", { x: -32, y: -12, width: 64, height: 24, rx: 12 }), svg("text", { y: 4.5, "text-anchor": "middle" }));
    const slider = svg("g", { class: "cut", id: "gate-slider", ...(!inReport && { role: "slider", tabindex: 0, "aria-label": `Gate: lowest ${best} that is answered`, "aria-valuemin": low, "aria-valuemax": high }) }, line, grip);
    const image = canvas(width, bottom + 34, svg("clipPath", { id: "gate-clip" }, clip),
      axisX(x, x.ticks(width < 520 ? 5 : 8), { top: bottom, bottom, label: { text: best, x: right, anchor: "end" } }),
      bars, svg("rect", { class: "pane", x: 0, y: 0, width, height: bottom + 20 }), slider);
    image.setAttribute("role", "group");
    image.setAttribute("aria-label", `Histograms of the ${best} of questions with and without an answer, with the gate`);
    move = () => {
      const px = Math.min(Math.max(x(at()), left), right);
      clip.setAttribute("x", px);
      clip.setAttribute("width", Math.max(right - px, 0));
      line.setAttribute("x1", px);
      line.setAttribute("x2", px);
      grip.setAttribute("transform", `translate(${Math.min(Math.max(px, 34), width - 34)} ${row + 6})`);
      grip.lastChild.textContent = number(at(), 4);
      if (inReport) return;
      slider.setAttribute("aria-valuenow", at());
      slider.setAttribute("aria-valuetext", words.textContent);
    };
    if (!inReport) draggable(image, slider, {
      moved: (px) => set(x.invert(px)),
      stepped: (by) => set(at() + Math.min(Math.max(by, -201), 201) * step * (up ? 1 : -1)),
      reset: () => set(null),
    });
    move();
    return image;
  }, { class: "picture cut-chart" });
  paint();
  return [
    !inReport && el("p", { class: "hint" }, `Drag the threshold: a question whose ${best} lies to the left of it gets no results. Escape gives the best division back.`),
    chart, words,
    !inReport && takeAway(() => loadGate(state.m, at())),
  ];
}
