// The page: which view is shown, and what is in the address.

import { showComparison } from "./compareview.js";
import { byId, copyText, plural, toast, whole } from "./dom.js";
import { showJudging } from "./judgemode.js";
import { showQuery } from "./queryview.js";
import { showReport } from "./reportview.js";
import { showRun, sortedRows } from "./runview.js";
import { hasQuery, inReport, loadQuery, loadRun } from "./source.js";
import { link, readAddress, state, update } from "./state.js";
import { showStart } from "./upload.js";

const PAGES = ["note", "start", "report-view", "run-view", "query-view", "judge-view", "compare-view"];
let run = null, loaded = null, lastQuery = null;

function only(name) {
  for (const page of PAGES) byId(page).hidden = page !== name;
  for (const view of ["report", "run", "query", "judge", "compare"]) byId(`show-${view}`).setAttribute("aria-pressed", String(name === `${view}-view`));
}

function tell(message) {
  byId("note").textContent = message;
  only("note");
}

function paintTheme() {
  const dark = state.theme === null ? matchMedia("(prefers-color-scheme: dark)").matches : state.theme === "dark";
  if (state.theme === null) document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset.theme = state.theme;
  byId("theme").textContent = dark ? "Light" : "Dark";
  byId("theme").setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
}

// Next and Previous go through the queries as the table shows them.
const orderOf = () => sortedRows(run).filter(hasQuery);

function openQuery(i) {
  update({ view: "query", q: run.queries.id[i], k: null }, { step: true });
  return show().then(() => {
    scrollTo(0, 0);
    byId("main").focus({ preventScroll: true });
  });
}

async function show() {
  paintTheme();
  // Learning from many judgements takes seconds: only the view of the run waits for it.
  if (state.run !== loaded || (run?.stale && (state.view === "run" || (run.learns && state.view === "query")))) {
    if (run?.stale) toast("Measuring again with your judgements");
    try {
      run = await loadRun();
    } catch (error) {
      byId("views").hidden = true;
      return tell(error.message);
    }
    loaded = state.run;
    lastQuery = null;
  }
  byId("views").hidden = run === null;
  byId("run-name").textContent = run === null ? "" : `${run.name} · ${plural(run.lists, "query", "queries")}${run.measured ? (run.measured < run.lists ? ` · ${whole(run.measured)} judged` : " · judged") : ""}`;
  if (run === null || state.view === "open") {
    showStart((name) => {
      loaded = null;
      update({ run: name, view: "run", q: null, k: null, find: "" }, { step: true });
      show();
    });
    return only("start");
  }
  if (!run.methods.some((m) => m.key === state.m)) state.m = run.methods[0].key;
  if (inReport && state.view === "report") {
    only("report-view");
    showRun(run, openQuery); // on paper it follows
    return showReport(run, openQuery);
  }
  byId("show-compare").hidden = inReport || Object.keys(run.open).length < 2;
  if (state.view === "compare" && !inReport) {
    only("compare-view");
    return showComparison(run, show);
  }
  if (state.view === "judge") {
    only("judge-view");
    return showJudging(run);
  }
  if (state.view === "query" || run.lists === 1) return showOne();
  only("run-view");
  showRun(run, openQuery);
}

async function showOne() {
  const named = run.queries.id.indexOf(state.q);
  const i = named >= 0 ? named : orderOf()[0] ?? run.queries.id.findIndex((_, j) => hasQuery(j));
  if (state.q !== null && named < 0) return tell(`There is no query ${state.q} in this run.`);
  if (i < 0) return tell("This run has no query.");
  try {
    const view = await loadQuery(i);
    lastQuery = run.queries.id[i];
    state.q = lastQuery;
    only("query-view");
    showQuery(run, view, { open: openQuery, order: orderOf() });
    if (inReport && byId("run-view").firstChild === null) showRun(run, openQuery);
  } catch (error) {
    tell(error.message);
  }
}

byId("show-report").hidden = !inReport;
byId("show-report").addEventListener("click", () => { update({ view: "report" }, { step: true }); show(); });
byId("show-run").addEventListener("click", () => { update({ view: "run" }, { step: true }); show(); });
byId("show-query").addEventListener("click", () => { update({ view: "query", q: state.q ?? lastQuery }, { step: true }); show(); });
byId("show-judge").addEventListener("click", () => { update({ view: "judge" }, { step: true }); show(); });
byId("show-judge").hidden = inReport;
byId("show-compare").addEventListener("click", () => { update({ view: "compare" }, { step: true }); show(); });
byId("open-run").addEventListener("click", () => { update({ view: "open" }, { step: true }); show(); });
byId("open-run").hidden = inReport;
byId("copy-link").addEventListener("click", () => copyText(link(), "The link"));
byId("theme").addEventListener("click", () => {
  const dark = byId("theme").textContent === "Light";
  update({ theme: dark ? "light" : "dark" });
  paintTheme();
});
byId("skip").addEventListener("click", (event) => { event.preventDefault(); byId("main").focus(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paintTheme);
addEventListener("popstate", () => { readAddress(); show(); });
addEventListener("hashchange", () => { readAddress(); show(); });
// On paper the views stand one after the other, with the first rows of the table.
addEventListener("beforeprint", () => {
  document.documentElement.classList.add("printing"); // as wide as the paper, so that pictures are drawn for it
  for (const page of ["report-view", "run-view", "query-view"]) byId(page).hidden = byId(page).firstChild === null;
  for (const drawn of document.querySelectorAll(".picture")) drawn.redraw();
});
addEventListener("afterprint", () => {
  document.documentElement.classList.remove("printing");
  show();
});

readAddress();
show();
