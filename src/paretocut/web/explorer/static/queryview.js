// One query: its list, the cut, and everything that moves with it.

import { cutChart, placeOf } from "./cutchart.js";
import { brief, byId, el, fraction, number, plural, replace, scrolled, share, whole } from "./dom.js";
import { judgeButtons, judgePanel } from "./judging.js";
import { gateChart, qqChart, tailChart } from "./smallcharts.js";
import { inReport, loadCode } from "./source.js";
import { state, update } from "./state.js";
import { takeAway } from "./takeaway.js";

const RESULTS = 25;

export function showQuery(run, view, { open, order }) {
  const host = byId("query-view");
  const up = run.higher_is_better;
  const method = () => (state.m in view.methods ? state.m : run.methods[0].key);
  const kOf = () => (state.k === null ? view.methods[method()].k : Math.min(state.k, view.n));
  const chart = cutChart({
    view, metric: () => run.metric, methods: () => run.methods, up, zoom: () => state.zoom,
    current: () => ({ k: kOf(), method: method() }),
    onCut: (k) => setCut(k), onReset: () => setCut(null),
  });
  const reading = readout(run, view);
  const panel = inReport ? null : judgePanel(run, view, refresh);
  const results = resultList(run, view, panel);
  const methodsCard = methodList(run, view, method, choose);
  const qqHost = el("div");
  const relevantKey = el("span", {}, el("span", { class: "key-hit" }), " relevant");
  let qqAt = null;

  function setCut(k, redraw = false) {
    update({ k: k === view.methods[method()].k ? null : k });
    show(redraw);
  }
  // After a judgement: the same page with new numbers, nothing jumps.
  function refresh(newRun, newView) {
    const first = !("learned" in view.methods);
    Object.assign(run, newRun);
    Object.assign(view, newView);
    if (first && state.m === "default" && state.k === null && "learned" in view.methods) update({ m: "learned" });
    methodsCard.paint();
    results.paint();
    show(true);
  }
  function choose(key) {
    update({ m: key, k: null });
    show(true);
  }
  function show(redraw = false) {
    const k = kOf();
    relevantKey.hidden = !view.picture.judgements?.some((r) => r === 1);
    chart.set(k, redraw);
    reading.set(k, method(), state.k !== null);
    results.set(k);
    if (view.tail && qqAt !== k) {
      clearTimeout(show.later);
      show.later = setTimeout(() => { qqAt = k; qqHost.replaceChildren(qqChart(view.tail, k, up)); }, qqAt === null ? 0 : 120);
    }
  }

  const at = order.indexOf(view.index);
  const step = (by, name) => el("button", {
    type: "button", class: "quiet", disabled: at + by < 0 || at + by >= order.length || at < 0,
    onclick: () => open(order[at + by]),
  }, name);
  const zooms = [["head", "Head"], ["all", "Whole list"], ["log", "Log ranks"]];
  const gates = view.gates.map((gate) => gateCard(run, gate, up));

  replace(host,
    el("div", { class: "query-head" },
      step(-1, "← Previous"),
      el("div", {}, el("h1", {}, "Query ", el("span", { class: "name" }, view.id)), view.text && el("p", { class: "query-text" }, view.text)),
      step(1, "Next →")),
    el("div", { class: "query-grid" },
      el("section", { class: "card chart-card" },
        el("div", { class: "card-head" }, el("h2", {}, el("span", { class: "screen" }, "Drag the cut"), el("span", { class: "paper" }, "Scores by rank")),
          el("div", { class: "segments", role: "group", "aria-label": "Ranks shown" }, zooms.map(([key, label]) => el("button", {
            type: "button", "aria-pressed": String(state.zoom === key),
            onclick: (event) => {
              update({ zoom: key });
              for (const b of event.target.parentNode.children) b.setAttribute("aria-pressed", String(b === event.target));
              chart.redraw();
            },
          }, label)))),
        chart.host,
        el("p", { class: "hint" }, "Drag anywhere, or use the arrow keys, Page Up and Down, Home and End; Escape gives the method's own cut back.",
          el("span", { class: "legend" }, view.picture.chance && [el("span", { class: "key-line" }), " expected by chance"], relevantKey))),
      el("div", { class: "side-column" }, reading.host, methodsCard.host)),
    view.tail
      ? el("div", { class: "columns three" },
        el("section", { class: "card" }, el("h2", {}, "Tail"), tailChart(view.tail, up), tailText(view)),
        el("section", { class: "card" }, el("h2", {}, "Q-Q plot"), qqHost,
          el("p", { class: "lead" }, "Dots above the line are more surprising than chance explains. Coloured: kept.")),
        gates)
      : el("section", { class: "card" }, el("h2", {}, "Tail"), el("p", {}, "There is nothing to fit in this list: too few results, or all scores are equal."), gates),
    el("div", { class: panel ? "with-panel" : "" },
      el("section", { class: "card" }, el("h2", {}, "Results"), results.host),
      panel && el("div", { class: "panel" },
        el("section", { class: "card" }, el("h2", {}, "Teach the cut-off"), panel.host),
        el("section", { class: "card" }, el("h2", {}, "Take it with you"), 
          el("p", { class: "lead" }, "A method as it is; a cut by eye as a threshold on the score."),
          takeAway(() => loadCode(view.index, state.k ?? 0, state.k === null ? method() : null))))),
  );
  show();
}

function tailText({ tail, picture }) {
  const [first, last] = picture.window;
  return el("p", { class: "lead" },
    `Fitted to ranks ${whole(first)} to ${whole(last)}: shape ${number(tail.shape, 3)}, scale ${number(tail.scale, 3)}. `,
    `Goodness of fit: p = ${number(tail.gof, 2)}.`,
    tail.warnings.length > 0 && ` Warnings: ${tail.warnings.join(", ")}.`);
}

function gateCard(run, gate, up) {
  const label = run.methods.find((m) => m.key === gate.key).label;
  return el("section", { class: "card" }, el("h2", {}, `Gate: ${label}`), gateChart(gate, up),
    el("p", { class: "lead" }, `${share(gate.pvalue)} of queries without an answer reach a best ${up ? "score" : "distance"} as good as ${number(gate.best)}; `
      + `the gate is at ${number(gate.threshold)}, so this list ${gate.answers ? "passes" : "does not pass"}.`));
}

// As many digits as neighbours need to look different, if they are.
function digitsOf(scores, least) {
  const pairs = scores.slice(1).map((x, i) => [scores[i], x]).filter(([a, b]) => a !== b && a !== undefined && b !== undefined);
  let digits = least;
  while (digits < 7 && pairs.some(([a, b]) => number(a, digits) === number(b, digits))) digits++;
  return digits;
}

// The numbers at the cut. All of them are looked up in what the engine sent.
function readout(run, view) {
  const kept = el("output", { class: "k", id: "k" });
  const of = el("span");
  const reason = el("p", { class: "reason", id: "reason" });
  const metrics = el("dl", { class: "metrics" });
  const rows = el("tbody");
  const cell = (value, digits = 3) => el("td", {}, number(value, digits));
  const named = (rank) => view.results.find((r) => r.rank === rank);
  const host = el("section", { class: "card readout", "aria-label": "The cut in numbers" },
    el("p", { class: "kept-line" }, kept, of), reason, metrics,
    el("table", { class: "edge" },
      el("thead", {}, el("tr", {}, ["rank", view.picture.name, "surprise", "p", "E"].map((name) => el("th", { scope: "col" }, name)))), rows));
  const edge = (label, i, digits) => {
    if (i < 1 || i >= view.ks.length) return null;
    const found = named(view.ks[i] - 1);
    return [
      el("tr", { "data-row": label }, el("th", { scope: "row" }, whole(view.ks[i]), el("small", {}, label)),
        cell(view.picture.values[i - 1], digits), cell(view.surprise[i - 1]), el("td", {}, brief(view.pvalue[i - 1])), el("td", {}, brief(view.evalue[i - 1]))),
      found?.id && el("tr", { "data-doc": label }, el("td", { colspan: 5 }, el("b", {}, found.id), found.text && ` ${found.text.slice(0, 120)}`)),
    ];
  };
  return {
    host,
    set(k, key, byEye) {
      const place = placeOf(view.ks, k), own = view.methods[key];
      const label = run.methods.find((m) => m.key === key).label;
      kept.textContent = whole(k);
      of.textContent = ` of ${whole(view.n)} kept`;
      reason.textContent = byEye ? `Your cut. ${label}: ${own.reason}` : `${label}: ${own.reason}`;
      metrics.replaceChildren(...(view.curves ? ["value", "precision", "recall"].map((name) => el("div", {},
        el("dt", {}, name === "value" ? run.metric.label : name), el("dd", { id: name }, fraction(view.curves[name][place])),
        view.ends && el("dd", { class: "ends" }, `${view.ends[name].map((end) => end[place].toFixed(2)).join(" to ")}, estimated`))) : []));
      const digits = digitsOf([view.picture.values[place - 1], view.picture.values[place]], 3);
      const next = view.ks[place + 1] === k + 1 ? edge("first left out", place + 1, digits) : null;
      replace(rows, edge("last kept", place, digits), next);
    },
  };
}

function methodList(run, view, method, choose) {
  const list = el("ul", { class: "method-list" });
  const paint = () => list.replaceChildren(...run.methods.map((m, j) => {
    const own = view.methods[m.key];
    return el("li", { class: `c${j % 9}` }, el("button", {
      type: "button", "aria-pressed": String(m.key === method()), "data-method": m.key, title: own.reason,
      onclick: () => { choose(m.key); paint(); list.querySelector(`[data-method="${CSS.escape(m.key)}"]`).focus(); },
    }, el("span", { class: "swatch" }, j + 1), el("span", { class: "label" }, m.label),
      m.fitted && el("span", { class: "value" }, "fitted on these"), !m.fitted && (own.value ?? null) !== null && el("span", { class: "value" }, `${run.metric.label} ${own.value.toFixed(2)}`), el("b", {}, whole(own.k))));
  }));
  paint();
  return { host: el("section", { class: "card" }, el("h2", {}, "Methods on this list"), list), paint };
}

function resultList(run, view, panel) {
  const body = el("tbody");
  const more = el("button", { type: "button", class: "quiet more" }, "Show more results");
  const note = el("p", { class: "count" });
  const digits = digitsOf(view.results.slice(0, 100).map((r) => r.score), 4);
  let shown = RESULTS, cut = 0;
  const judged = panel || view.picture.judgements;
  const judgement = (r) => (panel
    ? judgeButtons(r.rank, r.relevant, panel.judge)
    : { 1: "relevant", 0: "not relevant" }[r.relevant] ?? "unknown");
  const row = (r) => el("tr", { "data-rank": r.rank },
    el("td", { class: "rank" }, whole(r.rank + 1)),
    el("th", { scope: "row" }, r.id ?? `result ${r.rank + 1}`, r.text && el("span", { class: "text" }, r.text)),
    el("td", {}, number(r.score, digits)),
    r.parts && r.parts.map((p) => el("td", {}, p.rank ? [number(p.score), el("small", {}, ` rank ${whole(p.rank)}`)] : el("small", {}, "not found"))),
    judged && el("td", {}, judgement(r)));
  const head = ["rank", "result", view.picture.name, ...run.retrievers, ...(judged ? ["judgement"] : [])];
  const mark = () => {
    for (const line of body.rows) {
      line.classList.toggle("kept", Number(line.dataset.rank ?? Infinity) < cut);
      line.classList.toggle("last", Number(line.dataset.rank) === cut - 1);
    }
  };
  const paint = () => {
    const pressed = document.activeElement?.closest("#query-view .judge button");
    // Deep in the list only what is judged is there.
    const rows = view.results.filter((r, i) => i < shown || r.rank !== i);
    const gap = (hidden) => el("tr", { class: "gap" }, el("td", { colspan: head.length }, `${plural(hidden, "result")} not shown`));
    body.replaceChildren(...rows.flatMap((r, i) => {
      const hidden = i === 0 ? 0 : r.rank - rows[i - 1].rank - 1;
      return hidden > 0 ? [gap(hidden), row(r)] : [row(r)];
    }));
    more.hidden = rows.length >= view.results.length;
    note.textContent = view.results.length < view.n ? `${whole(view.results.length)} of ${plural(view.n, "result")} can be shown here` : "";
    mark();
    if (pressed) body.querySelector(`.judge button.${pressed.className}[data-rank="${pressed.dataset.rank}"]`)?.focus({ preventScroll: true });
  };
  more.addEventListener("click", () => { shown += 50; paint(); });
  paint();
  return {
    host: el("div", {}, scrolled("Results", el("table", { class: "results" },
      el("thead", {}, el("tr", {}, head.map((name) => el("th", { scope: "col" }, name)))), body)), el("div", { class: "foot" }, note, more)),
    paint,
    set(k) { cut = k; mark(); },
  };
}
