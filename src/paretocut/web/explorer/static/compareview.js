// Two runs of the same queries: which queries win, and which lose.

import { byId, el, fraction, replace, scrolled, signed, svg, whole } from "./dom.js";
import { axisX, axisY, canvas, linear, picture } from "./scale.js";
import { loadComparison } from "./source.js";
import { addressOf, state, update } from "./state.js";

export async function showComparison(run, again) {
  const view = byId("compare-view");
  const others = Object.entries(run.open).filter(([key]) => key !== state.run);
  if (others.length === 0) return replace(view, el("h1", {}, "Compare two runs"),
    el("section", { class: "card" }, el("p", {}, "There is one run. Open another run of the same queries with its judgements, or start with --against RUN.")));
  const other = others.some(([key]) => key === state.other) ? state.other : others[0][0];
  const choose = (label, name, value, options) => el("label", {}, `${label} `, el("select", { onchange: (event) => { update({ [name]: event.target.value }); again(); } },
    options.map(([key, text]) => el("option", { value: key, selected: key === value }, text))));
  const methods = run.methods.filter((m) => m.kind !== "learned");
  const method = methods.some((m) => m.key === state.m) ? state.m : "default";
  const controls = el("div", { class: "controls" }, choose("Against", "other", other, others), choose("Cut by", "m", method, methods.map((m) => [m.key, m.label])));
  let found = null;
  try { found = await loadComparison(other, method); } catch (error) {
    return replace(view, el("h1", {}, "Compare two runs"), controls, el("section", { class: "card" }, el("p", { class: "problem" }, error.message)));
  }
  const [a, b] = found.values, gain = a.map((x, i) => x - b[i]);
  const rows = gain.map((_, i) => i).sort((i, j) => gain[j] - gain[i] || i - j);
  const cell = (key, i) => el("a", { href: addressOf({ run: key, view: "query", q: found.queries[i], k: null }) }, whole(found.k[key === state.run ? 0 : 1][i]));
  replace(view, el("h1", {}, "Compare two runs"), controls,
    el("section", { class: "card verdict" }, el("h2", {}, `${found.names[0]} against ${found.names[1]}`), el("p", { id: "comparison" }, found.verdict)),
    el("section", { class: "card" }, el("h2", {}, "Queries, from most won to most lost"), gainChart(rows.map((i) => gain[i]), found.metric)),
    el("section", { class: "card" }, el("h2", {}, "Each query"), scrolled("Queries of both runs", el("table", { class: "queries compared" },
      el("thead", {}, el("tr", {}, ["query", `${found.metric}, first`, "second", "difference", "kept, first", "second"].map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", {}, rows.map((i) => el("tr", { class: gain[i] > 5e-4 ? "won" : gain[i] < -5e-4 ? "lost" : "" },
        el("th", { scope: "row" }, found.queries[i], found.text[i] && el("span", { class: "text" }, found.text[i])),
        el("td", {}, fraction(a[i])), el("td", {}, fraction(b[i])), el("td", { class: gain[i] < -5e-4 ? "worse" : "" }, signed(gain[i])),
        el("td", {}, cell(state.run, i)), el("td", {}, cell(other, i)))))))));
}

// One bar for each query.
function gainChart(gain, unit) {
  return picture(`Difference of ${unit} on each query, sorted`, (width) => {
    const left = 46, right = width - 10, top = 16, bottom = 190;
    const x = linear([0, gain.length], [left, right]);
    const y = linear([Math.min(0, ...gain), Math.max(0, ...gain) || 1e-9], [bottom, top]);
    const step = Math.max((right - left) / gain.length - 1, 0.6);
    return canvas(width, bottom + 36,
      axisY(y, y.ticks(4), { left, right, label: { text: `difference of ${unit}`, y: top - 4 } }),
      axisX(x, [], { top, bottom, label: { text: "queries", x: right, anchor: "end" } }),
      gain.map((value, i) => svg("rect", { class: value < 0 ? "wrong-bar" : "good-bar", x: x(i), width: step, y: Math.min(y(0), y(value)), height: Math.abs(y(value) - y(0)) })),
      svg("line", { class: "base", x1: left, x2: right, y1: y(0), y2: y(0) }));
  });
}
