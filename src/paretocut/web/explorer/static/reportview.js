// The first pages of a report, for readers: what was found, one table, one chart, three queries.

import { byId, el, fraction, methodName, number, plural, ranked, replace, scrolled, share, still, svg, whole } from "./dom.js";
import { axisX, canvas, linear, picture } from "./scale.js";
import { keptChart } from "./smallcharts.js";
import { reportSummary } from "./source.js";

export function showReport(run, open) {
  const summary = reportSummary();
  document.title = `How many results to return: ${run.name}`;
  replace(byId("report-view"),
    el("header", {}, el("h1", {}, "How many results to return"),
      el("p", { class: "lead" }, `${run.name} · ${plural(run.lists, "query", "queries")} · ${summary.date}`)),
    el("section", { class: "card verdict" }, el("h2", {}, "Finding"), el("p", {}, summary.finding),
      summary.measure && el("p", { class: "lead" }, summary.measure)),
    el("section", { class: "card" }, el("h2", {}, "Methods"), readersTable(run)),
    el("section", { class: "card" }, el("h2", {}, summary.chart ? `Mean ${run.metric.label}, with 95 % intervals` : "How many results are kept"),
      summary.chart ? valueChart(run, summary.chart) : keptChart(run)),
    summary.examples.length > 0 && el("h2", {}, `${plural(summary.examples.length, "query", "queries")}, cut by ${summary.method}`),
    summary.examples.map((example) => exampleCard(run, example, open)),
    el("p", { class: "lead" }, "The appendix has more queries: see Run and Query above, or the last pages on paper."));
}

function readersTable(run) {
  const measured = run.measured > 0;
  const row = (m) => el("tr", {}, el("th", { scope: "row" }, methodName(m)), el("td", {}, number(m.kept, 3)), el("td", {}, share(m.empty)),
    measured && ["value", "precision", "recall"].map((name) => el("td", {}, fraction(m[name]))));
  return scrolled("Methods", el("table", {},
    el("thead", {}, el("tr", {}, ["method", "results kept", "queries left empty", ...(measured ? [run.metric.label, "precision", "recall"] : [])].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, ranked(run.methods).map(row))));
}

// The mean of each method, the best first, and what the best cut of every list would give.
function valueChart(run, chart) {
  const unit = run.metric.label;
  const rows = run.methods.map((m, j) => [methodName(m), j, chart.value[m.key]]).filter(([, , own]) => own).sort((a, b) => b[2][0] - a[2][0]);
  return picture(`Mean ${unit} of each method, and of the best cut of every list`, (width) => {
    const step = 30, left = Math.min(150, width * 0.4), right = width - 16, bottom = 22 + rows.length * step, height = bottom + 38;
    const x = linear([Math.min(0, ...rows.map(([, , own]) => own[1])), Math.max(chart.ceiling, ...rows.map(([, , own]) => own[2])) * 1.05], [left, right]);
    return canvas(width, height,
      axisX(x, x.ticks(5), { top: 18, bottom, label: { text: `mean ${unit}`, x: right, anchor: "end" } }),
      chart.ceiling !== null && svg("g", { class: "gate-limit" }, svg("line", { x1: x(chart.ceiling), x2: x(chart.ceiling), y1: 18, y2: bottom }),
        svg("text", { x: x(chart.ceiling), y: 12, "text-anchor": "end" }, "best cut of every list")),
      rows.map(([label, j, [mean, low, high]], at) => {
        const y = 18 + (at + 0.5) * step;
        return svg("g", { class: `c${j % 9} interval` },
          svg("text", { class: "row-name", x: left - 12, y: y + 4, "text-anchor": "end" }, label),
          svg("line", { x1: x(low), x2: x(high), y1: y, y2: y }), svg("circle", { cx: x(mean), cy: y, r: 6 }));
      }));
  });
}

function exampleCard(run, example, open) {
  const known = example.results.some((r) => r.relevant !== null);
  const rows = example.results.flatMap((r, i) => {
    const gap = i > 0 && r.rank > example.results[i - 1].rank + 1 && el("tr", { class: "gap" }, el("td", { colspan: 4 }, "…"));
    return [gap, el("tr", { class: `${r.rank < example.k ? "kept" : ""}${r.rank === example.k - 1 ? " last" : ""}` },
      el("td", { class: "rank" }, whole(r.rank + 1)),
      el("th", { scope: "row" }, r.id ?? `result ${r.rank + 1}`, r.text && el("span", { class: "text" }, r.text)),
      el("td", {}, number(r.score, 4)),
      known && el("td", {}, { 1: "relevant", 0: "not relevant" }[r.relevant] ?? "unknown"))];
  });
  return el("section", { class: "card example" }, el("h3", {}, example.title), el("p", { class: "lead" }, `${example.rule} Query `,
    el("button", { type: "button", class: "plain", onclick: () => open(run.queries.id.indexOf(example.id)) }, example.id), "."),
    example.text && el("blockquote", {}, example.text),
    el("p", { class: "reason" }, example.said),
    example.picture && still(example.picture),
    example.results.length > 0 && el("table", { class: "results" },
      el("thead", {}, el("tr", {}, ["rank", "result", run.higher_is_better ? "score" : "distance", ...(known ? ["judgement"] : [])].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, rows)));
}
