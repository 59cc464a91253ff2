// One result after another, without rank and score, so that they do not sway the judge.

import { byId, el, plural, replace, toast, whole } from "./dom.js";
import { qrelsButton } from "./judging.js";
import { loadQuestion, pressKey } from "./source.js";

const KEYS = [["y", "yes", "Relevant"], ["n", "no", "Not relevant"], ["u", "unsure", "Unsure"], ["z", "undo", "Undo"], ["s", "skip", "Skip query"]];

const LETTER = "[\\p{L}\\p{N}_]";

// The words of the query stand out in the text.
function markedText(text, query) {
  const words = [...new Set(query.match(new RegExp(`${LETTER}{3,}`, "gu")))].sort((a, b) => b.length - a.length);
  if (words.length === 0) return text;
  const parts = text.split(new RegExp(`(?<!${LETTER})((?:${words.join("|")})${LETTER}*)`, "giu"));
  return parts.map((part, i) => (i % 2 ? el("mark", {}, part) : part));
}

export async function showJudging(run) {
  const view = byId("judge-view");
  let present = null;

  async function ask(loading) {
    view.setAttribute("aria-busy", "true");
    try {
      present = await loading;
      paintQuestion();
    } catch (error) {
      toast(error.message);
      if (present !== null) ask(loadQuestion());
    } finally {
      view.removeAttribute("aria-busy");
    }
  }
  function press(key) {
    if (view.hasAttribute("aria-busy")) return; // what is not seen yet is not answered
    run.stale = true;
    ask(pressKey(key, present.i ?? 0, present.rank ?? 0));
  }
  const button = ([letter, key, label]) => el("button", {
    type: "button", "aria-keyshortcuts": letter, "data-key": key, onclick: () => press(key),
    disabled: key === "undo" ? present.answers === 0 : Boolean(present.stopped),
  }, label, " ", el("kbd", {}, letter));

  function paintQuestion() {
    const focused = document.activeElement?.closest("#judge-view button")?.dataset.key;
    const { stopped, answers, budget, planned, more, said, summary, far } = present;
    const step = stopped && present.next;
    replace(view,
      el("h1", { class: "asked-query", tabindex: 0 }, stopped ? "Nothing more to judge" : present.query),
      el("article", { class: "card asked-text", tabindex: 0, "aria-label": "Result", "aria-live": "polite" },
        stopped ? [el("p", {}, step || `${stopped[0].toUpperCase()}${stopped.slice(1)}.`), said?.map((line) => el("p", { class: "lead" }, line)),
          el("p", { class: "buttons" }, more && el("button", { type: "button", onclick: () => press("more") }, "Go on judging"),
            el("button", { type: "button", onclick: () => byId("show-run").click() }, "See the run"))]
          : [el("p", { class: "asked-doc" }, el("b", {}, present.doc), present.query !== present.query_id && el("span", { class: "state" }, `query ${present.query_id}`)),
            present.text === null ? el("p", { class: "lead" }, "There is no text of this document. Start the explorer with --corpus FILE to read it here.")
              : el("div", {}, markedText(present.text, present.query))]),
      answers !== undefined && !(stopped && answers === 0) && el("div", { class: "answers", role: "group", "aria-label": "Is it relevant?" }, KEYS.filter(([, key]) => planned || !["unsure", "skip"].includes(key)).map(button)),
      answers !== undefined && el("div", { class: "judging-foot" },
        el("progress", { max: budget, value: answers, "aria-label": "Answers" }),
        el("p", { id: "judging-state" }, planned ? `${whole(answers)} of ${plural(budget, "answer")} · ${far}` : summary),
        planned && answers > 0 && el("details", {}, el("summary", {}, "What they show"), summary),
        answers > 0 && qrelsButton()));
    view.querySelector(`[data-key="${focused}"]`)?.focus();
  }
  await ask(loadQuestion());
}

addEventListener("keydown", (event) => {
  // A key held down is one answer.
  if (byId("judge-view").hidden || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  byId("judge-view").querySelector(`.answers [aria-keyshortcuts="${CSS.escape(event.key.toLowerCase())}"]`)?.click();
});
