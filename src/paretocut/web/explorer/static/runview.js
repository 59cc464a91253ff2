// The run as a whole: what each method does to it, and its queries.

import { byId, el, fraction, methodName, number, plural, ranked, replace, scrolled, share, signed, toast, whole } from "./dom.js";
import { gateChoice } from "./gate.js";
import { frontierChart, keptChart, stripChart } from "./smallcharts.js";
import { hasQuery, inReport, loadFrontier, loadRun, reportNote } from "./source.js";
import { addressOf, state, update } from "./state.js";

const PAGE = 100; // rows of the table at a time
const PAPER = 30; // rows of it on paper

const card = (title, ...content) => el("section", { class: "card" }, el("h2", {}, title), ...content);

// The population that a number speaks of.
export const population = (run) => (run.measured > 0 && run.measured < run.lists ? plural(run.measured, "judged query", "judged queries") : `all ${plural(run.lists, "query", "queries")}`);

const tile = (value, label, more = "") =>
  el("div", { class: "tile" }, el("strong", {}, value), el("span", {}, label), more && el("small", {}, more));

export function showRun(run, open) {
  const main = run.methods.find((m) => m.key === state.m) ?? run.methods[0];
  const everywhere = main.all ?? { kept: 0, empty: 0 };
  const warned = Object.entries(main.warnings);
  const frontierHost = el("div", { class: "pair" });
  const view = byId("run-view");
  replace(view,
    el("h1", { class: "hidden" }, `Run ${run.name}`),
    inReport && el("p", { class: "left-out" }, reportNote()),
    el("section", { class: "card verdict" }, el("h2", {}, "In short"), run.verdict
      ? el("p", { id: "verdict" }, run.verdict)
      : el("p", { id: "verdict" }, "No query is judged, so nobody knows yet which method is right. ",
        inReport ? "" : [el("button", { type: "button", class: "plain", onclick: () => byId("show-judge").click() }, "Judge some results"),
          ", or start the explorer with a file of judgements."])),
    el("div", { class: "tiles" },
      tile(whole(run.lists), run.lists === 1 ? "query" : "queries", `${whole(run.results)} results`),
      tile(number(everywhere.kept, 3), "results kept on average", `by ${main.label}, of ${whole(run.depth[1])}`),
      tile(share(everywhere.empty), "of the queries keep nothing", `by ${main.label}: ${plural(Math.round(everywhere.empty * run.lists), "query", "queries")}`),
      run.measured > 0 && tile(fraction(main.value), `mean ${run.metric.label} of ${methodName(main)}`,
        main.value === undefined ? "measured once five queries are judged"
          : `precision ${main.precision.toFixed(2)}, recall ${main.recall.toFixed(2)}; over ${population(run)}`
            + (run.estimated > 0 ? `; ${whole(run.estimated)} of them estimated` : ""))),
    el("div", { class: "columns" },
      card(`How many results are kept, of all ${plural(run.lists, "query", "queries")}`, keptChart(run)),
      card(`Methods, on ${population(run)}`, !inReport && run.measured > 0 && metricChoice(run, () => showRun(run, open)), methodTable(run, () => showRun(run, open)), aboutMethods(run))),
    run.gate && card("Questions without an answer", gateChoice(run), refusals(run)),
    run.measured > run.estimated && card("Recall and precision", el("p", { class: "lead" },
      "Each number is a method of the table. The line is what one threshold on the score, scaled to 0..1 in every list, can reach."), frontierHost),
    warned.length > 0 && card(`Warnings about the cuts of ${main.label}`, el("ul", { class: "warnings" }, warned.map(([name, lists]) =>
      el("li", {}, el("b", {}, name), ` in ${plural(lists, "query", "queries")}: `, run.meanings[name])))),
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
    run.methods.some((m) => m.fitted) && el("p", { class: "lead", id: "fitted" },
      `Models that were fitted on these judgements stand at the end: their values do not say how they do on new queries.`),
    learned && el("p", { class: "lead" }, learned.value === undefined
      ? `${learned.label} has learned from all judgements. It is measured once five queries are judged.`
      : `${learned.label} learns from the judgements. Each judged query is cut by a model that has learned from other queries.`),
    unjudged > 0 && run.measured > 0 && !run.stale && run.estimated === 0 && el("p", { class: "lead" },
      `${plural(unjudged, "query is", "queries are")} not judged and not measured. If they have no answer, start with --unanswered.`),
  ];
}

function methodTable(run, again) {
  const best = Math.max(...run.methods.map((m) => (m.fitted ? -Infinity : m.value ?? -Infinity)));
  const head = ["", "method", "kept", "empty", ...(run.measured ? [run.metric.label, "precision", "recall"] : [])];
  const row = (m, j) => el("tr", { class: `c${j % 9}${m.key === state.m ? " chosen" : ""}${m.fitted ? " apart" : ""}` },
    el("td", {}, el("span", { class: "swatch" }, j + 1)),
    el("th", { scope: "row" }, el("button", {
      type: "button", class: "plain", "aria-pressed": String(m.key === state.m), title: m.method,
      onclick: () => { update({ m: m.key, k: null }); again(); byId("run-view").querySelector(`[data-method="${CSS.escape(m.key)}"]`)?.focus(); },
      "data-method": m.key,
    }, m.label), m.fitted && el("span", { class: "state" }, "fitted on these")),
    el("td", {}, number(m.kept, 3)), el("td", {}, share(m.empty)),
    run.measured > 0 && ["value", "precision", "recall"].map((name) => el("td", { class: name === "value" && m.value === best ? "best" : null }, fraction(m[name]))));
  return scrolled("Methods", el("table", { class: "methods" },
    el("thead", {}, el("tr", {}, head.map((h) => (h ? el("th", { scope: "col" }, h) : el("td", {}))))),
    el("tbody", {}, ranked(run.methods).map((m) => row(m, run.methods.indexOf(m))))));
}

// Another metric is measured, and learned for, by the engine.
function metricChoice(run, again) {
  const choice = el("select", { id: "metric", onchange: async () => {
    update({ metric: choice.value });
    choice.disabled = true;
    try { Object.assign(run, await loadRun()); } catch (error) { toast(error.message); }
    again();
    byId("metric").focus();
  } }, Object.entries(run.metric.choices).map(([name, label]) => el("option", { value: name, selected: name === run.metric.name }, label)));
  return el("div", { class: "controls" }, el("label", {}, "Measured by ", choice));
}

// What each method does to the queries with an answer and to those without one.
function refusals(run) {
  const none = run.queries_without, some = run.lists - none;
  const row = (m) => el("tr", {}, el("th", { scope: "row" }, m.label), el("td", {}, `${whole(m.answered)} (${share(m.answered / some)})`), el("td", {}, `${whole(m.refused)} (${share(m.refused / none)})`));
  return scrolled("Answers and refusals", el("table", { class: "refusals" },
    el("thead", {}, el("tr", {}, ["method", `answers, of ${whole(some)} with an answer`, `refuses, of ${whole(none)} without`].map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", {}, run.methods.filter((m) => m.refused !== undefined).map(row))));
}

const ORDERS = {
  disagreement: "how much the methods differ",
  gain: "gain",
  loss: "loss",
  value: "lowest value",
  k: "most kept",
  empty: "fewest kept",
  best: "best score",
  name: "name",
  order: "order of the run",
};

// The queries as the table shows them: found, and in order.
export function sortedRows(run) {
  const q = run.queries, k = q.k[state.m] ?? q.k.default;
  const gain = gains(run);
  const last = (x) => x ?? Infinity; // what is not measured comes last
  const keys = new Map(Object.entries({
    disagreement: (i) => -q.disagreement[i],
    gain: (i) => last(gain && gain[i] !== null ? -gain[i] : null),
    loss: (i) => last(gain?.[i]),
    value: (i) => last(q.value?.[state.m]?.[i]),
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
    || warningsOf(run, i).some((name) => name.includes(wanted)));
  const names = new Intl.Collator("en", { numeric: true });
  return rows.sort((a, b) => (state.sort === "name" ? names.compare(q.id[a], q.id[b]) : key(a) - key(b)) || a - b);
}

export function gains({ queries: { value } }) {
  const own = value?.[state.m], base = value?.[state.base];
  return own && base ? own.map((x, i) => (x === null || base[i] === null ? null : x - base[i])) : null;
}

// Warnings about the cut that is shown; those of other methods do not matter to it.
const warningsOf = (run, i) => run.queries.warnings[state.m]?.[i] ?? [];

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
      el("td", {}, whole((q.k[state.m] ?? q.k.default)[i])),
      el("td", {}, range(run.methods.map((m) => q.k[m.key][i]))),
      run.measured > 0 && [el("td", {}, fraction(q.value[state.m]?.[i])), el("td", { class: gain?.[i] < 0 ? "worse" : "" }, (gain?.[i] ?? null) === null ? "–" : signed(gain[i]))],
      el("td", {}, el("span", { class: "names" }, warningsOf(run, i).join(", "))))));
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
  const orders = Object.entries(ORDERS).filter(([name]) => run.measured > 0 || !["gain", "loss", "value"].includes(name));
  const controls = el("div", { class: "controls" },
    el("label", {}, "Find ", el("input", { type: "search", value: state.find, placeholder: "name, text or warning",
      oninput: (event) => { update({ find: event.target.value }); refresh(); } })),
    el("label", {}, "Sort by ", el("select", { id: "sort", onchange: (event) => { update({ sort: event.target.value }); refresh(); } },
      orders.map(([name, label]) => el("option", { value: name, selected: name === state.sort }, label)))),
    run.measured > 0 && el("label", {}, "Gain over ", el("select", { onchange: (event) => { update({ base: event.target.value }); refresh(); } },
      run.methods.map((m) => el("option", { value: m.key, selected: m.key === state.base }, m.label)))));
  const columns = [["query", "name"], ["cuts"], ["kept", "k"], ["fewest to most", "disagreement"], ...(run.measured ? [[run.metric.label, "value"], ["gain", "loss"]] : []), ["warnings"]];
  const heads = el("tr", {}, columns.map(([name, sort]) => el("th", { scope: "col", "data-sort": sort },
    // Browsers print buttons of a heading only on its first page.
    sort ? [el("button", { type: "button", class: "plain screen", onclick: () => { update({ sort }); refresh(); } }, name), el("span", { class: "paper" }, name)] : name)));
  const table = el("div", {}, controls,
    scrolled("Queries", el("table", { class: "queries" }, el("thead", {}, heads), body)),
    el("div", { class: "foot" }, count, more),
    q.id.length > PAPER && el("p", { class: "count paper" }, `The first ${whole(PAPER)} of ${plural(q.id.length, "query", "queries")}; the file has them all.`));
  queueMicrotask(refresh);
  return table;
}

function range(ks) {
  const low = Math.min(...ks), high = Math.max(...ks);
  return low === high ? whole(low) : `${whole(low)} to ${whole(high)}`;
}
