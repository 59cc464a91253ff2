// The run as a whole: what each method does to it, and its queries.

import { byId, el, fraction, number, plural, replace, share, signed, whole } from "./dom.js";
import { gateChoice } from "./gate.js";
import { frontierChart, keptChart, stripChart } from "./smallcharts.js";
import { hasQuery, inReport, loadFrontier, reportNote } from "./source.js";
import { addressOf, state, update } from "./state.js";

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
    run.verdict && el("section", { class: "card verdict" }, el("h2", {}, "In short"), el("p", { id: "verdict" }, run.verdict)),
    el("div", { class: "tiles" },
      tile(whole(run.lists), run.lists === 1 ? "query" : "queries", `${whole(run.results)} results`),
      tile(number(main.kept, 3), "results kept on average", `by ${main.label}, of ${whole(run.depth[1])}`),
      tile(share(main.empty), "of the queries keep nothing", plural(Math.round(main.empty * run.lists), "query", "queries")),
      run.measured > 0 && tile(fraction(main.f1), "mean F1",
        main.f1 === undefined ? "measured once five queries are judged"
          : `precision ${main.precision.toFixed(2)}, recall ${main.recall.toFixed(2)}${run.measured < run.lists ? `; over ${plural(run.measured, "judged query", "judged queries")}` : ""}`
            + (run.estimated > 0 ? `; ${whole(run.estimated)} of them estimated` : ""))),
    el("div", { class: "columns" },
      card("How many results are kept", keptChart(run)),
      card("Methods", methodTable(run, () => showRun(run, open)), aboutMethods(run))),
    run.gate && card("Questions without an answer", gateChoice(run)),
    run.measured > run.estimated && card("Recall and precision", el("p", { class: "lead" },
      "Each number is a method of the table. The line is what one threshold on the score, scaled to 0..1 in every list, can reach."), frontierHost),
    run.warnings.length > 0 && card("Warnings", el("ul", { class: "warnings" }, run.warnings.map((w) =>
      el("li", {}, el("b", {}, w.name), ` in ${plural(w.lists, "query", "queries")}: `, w.meaning)))),
    card("Queries", queryTable(run, open)),
  );
  if (run.measured > run.estimated) loadFrontier().then((frontier) => {
    if (frontier.kept.length) frontierHost.replaceChildren(frontierChart(run, frontier, "recall"), frontierChart(run, frontier, "precision"));
  });
}

function aboutMethods(run) {
  const learned = run.methods.find((m) => m.key === "learned");
  const unjudged = run.gate ? 0 : run.queries.state?.filter((word) => word === "not judged").length;
  return [
    run.protocol && el("p", { class: "lead", id: "protocol" }, `Measured on ${plural(run.measured, "judged query", "judged queries")}: ${run.protocol}.`),
    learned && el("p", { class: "lead" }, learned.f1 === undefined
      ? `${learned.label} is measured once five queries are judged.`
      : `${learned.label} learns from the judgements. Each judged query is cut by a model that has learned from other queries.`),
    unjudged > 0 && run.measured > 0 && el("p", { class: "lead" },
      `${plural(unjudged, "query is", "queries are")} not judged and not measured. If they have no answer, start with --unanswered.`),
  ];
}

function methodTable(run, again) {
  const gated = run.methods.some((m) => m.refused !== undefined);
  const best = Math.max(...run.methods.map((m) => m.f1 ?? 0));
  const head = ["", "method", "kept", "empty", ...(run.measured ? ["F1", "precision", "recall"] : []), ...(gated ? ["answers kept", "others refused"] : [])];
  const row = (m, j) => el("tr", { class: `c${j % 8}${m.key === state.m ? " chosen" : ""}` },
    el("td", {}, el("span", { class: "swatch" }, j + 1)),
    el("th", { scope: "row" }, el("button", {
      type: "button", class: "plain", "aria-pressed": String(m.key === state.m), title: m.method,
      onclick: () => { update({ m: m.key, k: null }); again(); byId("run-view").querySelector(`[data-method="${CSS.escape(m.key)}"]`)?.focus(); },
      "data-method": m.key,
    }, m.label), m.key === "consensus" && el("span", { class: "state" }, "default")),
    el("td", {}, number(m.kept, 3)), el("td", {}, share(m.empty)),
    run.measured > 0 && ["f1", "precision", "recall"].map((name) => el("td", { class: name === "f1" && m.f1 === best ? "best" : null }, fraction(m[name]))),
    gated && ["answered", "refused"].map((name) => el("td", {}, m[name] === undefined ? "–" : share(m[name]))));
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Methods" }, el("table", { class: "methods" },
    el("thead", {}, el("tr", {}, head.map((h) => (h ? el("th", { scope: "col" }, h) : el("td", {}))))),
    el("tbody", {}, run.methods.map((m, j) => [m, j]).sort(([a], [b]) => (b.f1 ?? -1) - (a.f1 ?? -1)).map(([m, j]) => row(m, j)))));
}

const ORDERS = {
  disagreement: "how much the methods differ",
  gain: "gain in F1",
  loss: "loss in F1",
  f1: "lowest F1",
  k: "most kept",
  empty: "fewest kept",
  best: "best score",
  name: "name",
  order: "order of the run",
};

// The queries as the table shows them: found, and in order.
export function sortedRows(run) {
  const q = run.queries, k = q.k[state.m] ?? q.k.consensus;
  const gain = gains(run);
  const last = (x) => x ?? Infinity; // what is not measured comes last
  const keys = new Map(Object.entries({
    disagreement: (i) => -q.disagreement[i],
    gain: (i) => last(gain && gain[i] !== null ? -gain[i] : null),
    loss: (i) => last(gain?.[i]),
    f1: (i) => last(q.f1?.[state.m]?.[i]),
    k: (i) => -k[i],
    empty: (i) => k[i],
    best: (i) => (q.best[i] ?? 0) * (run.higher_is_better ? -1 : 1),
    name: () => 0,
    order: () => 0,
  }));
  const key = keys.get(state.sort) ?? keys.get("order");
  const wanted = state.find.trim().toLowerCase();
  const rows = q.id.map((_, i) => i).filter((i) => !wanted
    || q.id[i].toLowerCase().includes(wanted)
    || q.text?.[i].toLowerCase().includes(wanted)
    || q.state?.[i].includes(wanted)
    || q.warnings[i].some((name) => name.includes(wanted)));
  const names = new Intl.Collator("en", { numeric: true });
  return rows.sort((a, b) => (state.sort === "name" ? names.compare(q.id[a], q.id[b]) : key(a) - key(b)) || a - b);
}

export const gains = (run) => run.queries.f1?.[state.base] && run.queries.f1[state.m]
  ? run.queries.f1[state.m].map((x, i) => (x === null || run.queries.f1[state.base][i] === null ? null : x - run.queries.f1[state.base][i]))
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
        ? el("a", { href: addressOf({ view: "query", q: q.id[i], k: null }), onclick: (event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return; // another window
          event.preventDefault();
          open(i);
        } }, q.id[i])
        : q.id[i],
        q.state?.[i] && el("span", { class: "state" }, q.state[i]),
        q.text && el("span", { class: "text" }, q.text[i])),
      el("td", {}, stripChart(run.methods.map((m) => q.k[m.key][i]), longest)),
      el("td", {}, whole((q.k[state.m] ?? q.k.consensus)[i])),
      el("td", {}, range(run.methods.map((m) => q.k[m.key][i]))),
      run.measured > 0 && [el("td", {}, fraction(q.f1[state.m]?.[i])), el("td", { class: gain?.[i] < 0 ? "worse" : "" }, (gain?.[i] ?? null) === null ? "–" : signed(gain[i]))],
      el("td", {}, el("span", { class: "names" }, q.warnings[i].join(", "))))));
    shown = Math.min(shown + PAGE, rows.length);
    more.hidden = shown >= rows.length;
    count.textContent = rows.length ? `${whole(shown)} of ${plural(rows.length, "query", "queries")}` : "No query matches.";
  };
  const refresh = () => {
    rows = sortedRows(run);
    shown = 0;
    body.replaceChildren();
    extend();
    for (const cell of heads.children) cell.ariaSort = cell.dataset.sort === state.sort ? "other" : "none";
    byId("sort").value = state.sort in ORDERS ? state.sort : "order";
  };
  more.addEventListener("click", extend);
  const orders = Object.entries(ORDERS).filter(([name]) => run.measured > 0 || !["gain", "loss", "f1"].includes(name));
  const controls = el("div", { class: "controls" },
    el("label", {}, "Find ", el("input", { type: "search", value: state.find, placeholder: "name, text or warning",
      oninput: (event) => { update({ find: event.target.value }); refresh(); } })),
    el("label", {}, "Sort by ", el("select", { id: "sort", onchange: (event) => { update({ sort: event.target.value }); refresh(); } },
      orders.map(([name, label]) => el("option", { value: name, selected: name === state.sort }, label)))),
    run.measured > 0 && el("label", {}, "Gain over ", el("select", { onchange: (event) => { update({ base: event.target.value }); refresh(); } },
      run.methods.map((m) => el("option", { value: m.key, selected: m.key === state.base }, m.label)))));
  const columns = [["query", "name"], ["cuts"], ["kept", "k"], ["fewest to most", "disagreement"], ...(run.measured ? [["F1", "f1"], ["gain", "loss"]] : []), ["warnings"]];
  const heads = el("tr", {}, columns.map(([name, sort]) => el("th", { scope: "col", "data-sort": sort },
    sort ? el("button", { type: "button", class: "plain", onclick: () => { update({ sort }); refresh(); } }, name) : name)));
  const table = el("div", {}, controls,
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Queries" }, el("table", { class: "queries" }, el("thead", {}, heads), body)),
    el("div", { class: "foot" }, count, more));
  queueMicrotask(refresh);
  return table;
}

function range(ks) {
  const low = Math.min(...ks), high = Math.max(...ks);
  return low === high ? whole(low) : `${whole(low)} to ${whole(high)}`;
}
