// The run as a whole: what each method does to it, and its queries.

import { byId, el, fraction, number, plural, replace, share, signed, whole } from "./dom.js";
import { frontierChart, keptChart, stripChart } from "./smallcharts.js";
import { hasQuery, inReport, loadFrontier, reportNote } from "./source.js";
import { state, update } from "./state.js";

const PAGE = 100; // rows of the table at a time

const card = (title, ...content) => el("section", { class: "card" }, el("h2", {}, title), ...content);

const tile = (value, label, more = "") =>
  el("div", { class: "tile" }, el("strong", {}, value), el("span", {}, label), more && el("small", {}, more));

export function showRun(run, open) {
  const main = run.methods.find((m) => m.key === state.m) ?? run.methods[0];
  const frontierHost = el("div", { class: "pair" });
  const view = byId("run-view");
  replace(view,
    el("h1", { class: "hidden" }, `Run ${run.name}`),
    inReport && el("p", { class: "left-out" }, reportNote()),
    el("div", { class: "tiles" },
      tile(whole(run.lists), run.lists === 1 ? "query" : "queries", `${whole(run.results)} results`),
      tile(number(main.kept, 3), "results kept on average", `by ${main.label}, of ${whole(run.depth[1])}`),
      tile(share(main.empty), "of the queries keep nothing", plural(Math.round(main.empty * run.lists), "query", "queries")),
      run.measured && tile(fraction(main.f1), "mean F1", `precision ${main.precision.toFixed(2)}, recall ${main.recall.toFixed(2)}`)),
    el("div", { class: "columns" },
      card("How many results are kept", keptChart(run)),
      card("Methods", methodTable(run, () => showRun(run, open)))),
    run.measured && card("Frontier", el("p", { class: "lead" },
      "Recall and precision against the number kept. The line cuts every list at one min-max score; the numbers are the methods above."), frontierHost),
    run.warnings.length > 0 && card("Warnings", el("ul", { class: "warnings" }, run.warnings.map((w) =>
      el("li", {}, el("b", {}, w.name), ` in ${plural(w.lists, "query", "queries")}: `, w.meaning)))),
    card("Queries", queryTable(run, open)),
  );
  if (run.measured) loadFrontier().then((frontier) => {
    if (frontier.kept.length) frontierHost.replaceChildren(frontierChart(run, frontier, "recall"), frontierChart(run, frontier, "precision"));
  });
}

function methodTable(run, again) {
  const head = ["", "method", "kept", "empty", ...(run.measured ? ["F1", "precision", "recall"] : [])];
  const row = (m, j) => el("tr", { class: `c${j % 8}${m.key === state.m ? " chosen" : ""}` },
    el("td", {}, el("span", { class: "swatch" }, j + 1)),
    el("th", { scope: "row" }, el("button", {
      type: "button", class: "plain", "aria-pressed": String(m.key === state.m), title: m.method,
      onclick: () => { update({ m: m.key, k: null }); again(); byId("run-view").querySelector(`[data-method="${CSS.escape(m.key)}"]`)?.focus(); },
      "data-method": m.key,
    }, m.label)),
    el("td", {}, number(m.kept, 3)), el("td", {}, share(m.empty)),
    run.measured && ["f1", "precision", "recall"].map((name) => el("td", {}, fraction(m[name]))));
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Methods" }, el("table", { class: "methods" },
    el("thead", {}, el("tr", {}, head.map((h) => (h ? el("th", { scope: "col" }, h) : el("td", {}))))),
    el("tbody", {}, run.methods.map(row))));
}

const ORDERS = {
  disagreement: "disagreement between methods",
  gain: "gain in F1",
  loss: "loss in F1",
  f1: "lowest F1",
  k: "most kept",
  empty: "fewest kept",
  best: "best score",
  order: "order of the run",
};

function sortedRows(run) {
  const q = run.queries, k = q.k[state.m] ?? q.k.consensus;
  const gain = gains(run);
  const key = {
    disagreement: (i) => -q.disagreement[i],
    gain: (i) => -(gain?.[i] ?? 0),
    loss: (i) => gain?.[i] ?? 0,
    f1: (i) => q.f1?.[state.m]?.[i] ?? 0,
    k: (i) => -k[i],
    empty: (i) => k[i],
    best: (i) => (q.best[i] ?? 0) * (run.higher_is_better ? -1 : 1),
    order: () => 0,
  }[state.sort] ?? (() => 0);
  const wanted = state.find.trim().toLowerCase();
  const rows = q.id.map((_, i) => i).filter((i) => !wanted
    || q.id[i].toLowerCase().includes(wanted)
    || q.text?.[i].toLowerCase().includes(wanted)
    || q.warnings[i].some((name) => name.includes(wanted)));
  return rows.sort((a, b) => key(a) - key(b) || a - b);
}

export const gains = (run) => run.queries.f1?.[state.base] && run.queries.f1[state.m]
  ? run.queries.f1[state.m].map((x, i) => x - run.queries.f1[state.base][i])
  : null;

function queryTable(run, open) {
  const q = run.queries;
  const longest = Math.max(...run.methods.map((m) => Math.max(...q.k[m.key].slice(0, 20000), 1)));
  const body = el("tbody");
  const count = el("p", { class: "count", "aria-live": "polite" });
  const more = el("button", { type: "button", class: "quiet more" }, "Show more");
  let rows = [], shown = 0;
  const extend = () => {
    const gain = gains(run);
    body.append(...rows.slice(shown, shown + PAGE).map((i) => el("tr", { class: hasQuery(i) ? "" : "absent" },
      el("th", { scope: "row" }, hasQuery(i)
        ? el("button", { type: "button", class: "plain", onclick: () => open(i) }, q.id[i])
        : q.id[i],
        q.text && el("span", { class: "text" }, q.text[i])),
      el("td", {}, stripChart(run.methods.map((m) => q.k[m.key][i]), longest)),
      el("td", {}, whole((q.k[state.m] ?? q.k.consensus)[i])),
      el("td", {}, number(q.disagreement[i], 2)),
      run.measured && [el("td", {}, fraction(q.f1[state.m]?.[i])), el("td", { class: gain?.[i] < 0 ? "worse" : "" }, gain ? signed(gain[i]) : "–")],
      el("td", {}, el("span", { class: "names" }, q.warnings[i].join(", "))))));
    shown = Math.min(shown + PAGE, rows.length);
    more.hidden = shown >= rows.length;
    count.textContent = `${whole(shown)} of ${plural(rows.length, "query", "queries")}`;
  };
  const refresh = () => { rows = sortedRows(run); shown = 0; body.replaceChildren(); extend(); };
  more.addEventListener("click", extend);
  const orders = Object.entries(ORDERS).filter(([name]) => run.measured || !["gain", "loss", "f1"].includes(name));
  const controls = el("div", { class: "controls" },
    el("label", {}, "Find ", el("input", { type: "search", value: state.find, placeholder: "name, text or warning",
      oninput: (event) => { update({ find: event.target.value }); refresh(); } })),
    el("label", {}, "Sort by ", el("select", { onchange: (event) => { update({ sort: event.target.value }); refresh(); } },
      orders.map(([name, label]) => el("option", { value: name, selected: name === state.sort }, label)))),
    run.measured && el("label", {}, "Gain over ", el("select", { onchange: (event) => { update({ base: event.target.value }); refresh(); } },
      run.methods.map((m) => el("option", { value: m.key, selected: m.key === state.base }, m.label)))));
  const columns = ["query", "cuts", "kept", "doublings apart", ...(run.measured ? ["F1", "gain"] : []), "warnings"];
  refresh();
  return el("div", {}, controls,
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Queries" }, el("table", { class: "queries" },
      el("thead", {}, el("tr", {}, columns.map((name) => el("th", { scope: "col" }, name)))), body)),
    el("div", { class: "foot" }, count, more));
}
