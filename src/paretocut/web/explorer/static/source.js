// Where the data comes from: this server, or the report the page is in.

import { state } from "./state.js";

const embedded = document.getElementById("report");
const report = embedded === null ? null : JSON.parse(embedded.textContent);
export const inReport = report !== null;

async function asked(path, options) {
  const answer = await fetch(`api/${path}`, options).catch(() => {
    throw new Error("The explorer does not answer. Is `paretocut explore` still running?");
  });
  const content = await answer.json().catch(() => null);
  if (!answer.ok) throw new Error(content?.error?.message ?? `the server answered ${answer.status}`);
  return content;
}

const sent = (content) => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(content),
});

const here = () => encodeURIComponent(state.run);

export const loadRun = async () => (inReport ? report.run
  : asked(`${here()}/run${state.metric === null ? "" : `?${new URLSearchParams({ metric: state.metric })}`}`));
export const loadComparison = (other, method) => asked(`${here()}/compare?${new URLSearchParams({ other, method })}`);
export const openExample = () => asked("example", sent({}));
export const loadFrontier = async () => (inReport ? report.frontier : asked(`${here()}/frontier`));
export const hasQuery = (i) => !inReport || i in report.queries;
export async function loadQuery(i) {
  if (!inReport) return asked(`${here()}/query/${i}`);
  if (!hasQuery(i)) throw new Error("this query is in the table of the report, but its list was left out");
  return report.queries[i];
}
export const loadCode = (i, k, method) =>
  asked(`${here()}/copy?${new URLSearchParams({ i, k, ...(method === null ? {} : { method }) })}`);
export const loadGate = (method, threshold) => asked(`${here()}/gate?${new URLSearchParams({ method, threshold })}`);
export const loadCheck = async (threshold) =>
  (inReport ? report.run.gate.check : asked(`${here()}/gate?${new URLSearchParams({ threshold })}`));
export const loadJudging = (i) => asked(`${here()}/judging/${i}`);
export const loadQuestion = () => asked(`${here()}/question`);
export const pressKey = (key, i, rank) => asked(`${here()}/answer`, sent({ key, i, rank }));
export const loadQrels = () => asked(`${here()}/qrels`);
export const sendJudgement = (i, rank, relevant) => asked(`${here()}/judge`, sent({ i, rank, relevant }));
export const learnAgain = (i, rank) => asked(`${here()}/learn`, sent({ i, rank }));
export const upload = (given) => asked("upload", sent(given));
export const reportNote = () => report.note;
export const reportSummary = () => report.summary;
