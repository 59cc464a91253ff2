// Click to judge: what is known, and what was learned from it.

import { byId, download, el, number, plural, replace, toast, whole } from "./dom.js";
import { learnAgain, loadCode, loadJudging, loadQrels, sendJudgement } from "./source.js";

const CHOICES = [[true, "yes", "relevant", "✓", 1], [false, "no", "not", "✗", 0], [null, "open", "unknown", "?", null]];

// What a result is: exactly one of three.
export function judgeButtons(rank, known, onJudge) {
  return el("span", { class: "judge", role: "group", "aria-label": `Judgement of rank ${rank + 1}` },
    CHOICES.map(([value, kind, label, sign, own]) => el("button", {
      type: "button", class: kind, "aria-pressed": String((known ?? null) === own), "data-rank": rank, "aria-label": kind === "no" ? "not relevant" : label,
      onclick: ({ currentTarget }) => {
        if (currentTarget.getAttribute("aria-pressed") === "true") return;
        // Seen at once; the answer of the engine follows.
        for (const each of currentTarget.parentNode.children) each.setAttribute("aria-pressed", String(each === currentTarget));
        onJudge(rank, value);
      },
    }, el("span", { class: "long" }, label), el("span", { class: "short", "aria-hidden": "true" }, sign))));
}

export const qrelsButton = () => el("button", { type: "button", class: "quiet", onclick: async () => {
  try { download("qrels.txt", await loadQrels()); } catch (error) { toast(error.message); }
} }, "Save the judgements");

export function judgePanel(run, view, refresh) {
  const text = el("div", { class: "learned", "aria-live": "polite" });
  const oneByOne = el("button", { type: "button", onclick: () => byId("show-judge").click() }, "Judge one by one");
  const saveQrels = qrelsButton();
  const saveModel = el("button", { type: "button", class: "quiet", onclick: async () => {
    const { model } = await loadCode(view.index, 0, "learned");
    download("model.json", `${JSON.stringify(model, null, 2)}\n`, "application/json");
  } }, "Save what was learned");
  let later = 0;

  const paint = (found) => {
    const learned = found.learned;
    replace(text,
      el("p", {}, found.whole > 0
        ? `${plural(found.whole, "query is", "queries are")} judged in full: results that the judgements do not name count as not relevant. ${found.held_out ? "Learned Consensus cuts each of them by what the others teach." : "Learned Consensus has learned from all of them; it is measured once five queries are judged."}`
        : found.judged === 0
        ? "Say of some results whether they are relevant. The cut-off learns while you judge. Unknown results are not taken for irrelevant."
        : [el("b", {}, plural(found.judged, "result")), ` judged in ${plural(found.lists, "query", "queries")}, `, el("b", {}, whole(found.relevant)), " relevant."]),
      learned && el("dl", { class: "metrics" },
        change("kept on average", ...learned.kept), change("kept of this list", ...learned.k),
        el("div", {}, el("dt", {}, "queries cut differently"), el("dd", {}, whole(learned.changed)))),
      learned && el("p", { class: "lead" }, `This list: ${learned.reason}`));
    saveQrels.hidden = found.judged === 0;
    saveModel.hidden = learned === null;
  };
  const change = (label, before, after) => el("div", {}, el("dt", {}, label),
    el("dd", {}, el("small", {}, `${number(before, 3)} → `), number(after, 3)));

  loadJudging(view.index).then(paint, (error) => { text.textContent = error.message; });
  return {
    host: el("div", {}, text, el("div", { class: "buttons" }, oneByOne, saveQrels, saveModel)),
    async judge(rank, relevant) {
      text.setAttribute("aria-busy", "true");
      try {
        const found = await sendJudgement(view.index, rank, relevant);
        paint(found.judging);
        refresh({}, found.query);
        // The whole run is looked at again when there is a pause, or when it is shown.
        clearTimeout(later);
        run.stale = true;
        if (!run.learns) return;
        later = setTimeout(async () => {
          const whole = await learnAgain(view.index, rank).catch((error) => toast(error.message));
          if (!whole) return;
          paint(whole.judging);
          refresh({ ...whole.run, stale: false }, whole.query);
        }, 400);
      } catch (error) {
        toast(error.message);
      } finally {
        text.removeAttribute("aria-busy");
      }
    },
  };
}
