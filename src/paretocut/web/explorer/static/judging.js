// Click to judge: what is known, what was learned from it, and what to ask next.

import { download, el, number, plural, replace, toast, whole } from "./dom.js";
import { loadCode, loadJudging, loadQrels, sendJudgement } from "./source.js";

const CHOICES = [[true, "relevant"], [false, "not"]];

// Two buttons for a result; pressing the one that is down takes the judgement back.
export function judgeButtons(rank, known, onJudge) {
  return el("span", { class: "judge", role: "group", "aria-label": `Judgement of rank ${rank + 1}` },
    CHOICES.map(([value, label]) => el("button", {
      type: "button", class: value ? "yes" : "no", "aria-pressed": String(known === (value ? 1 : 0)), "data-rank": rank,
      onclick: ({ currentTarget }) => {
        // Seen at once; the answer of the engine follows.
        const down = currentTarget.getAttribute("aria-pressed") === "true";
        for (const each of currentTarget.parentNode.children) each.setAttribute("aria-pressed", String(each === currentTarget && !down));
        onJudge(rank, down ? null : value);
      },
    }, label)));
}

export function judgePanel(run, view, { refresh, open }) {
  const text = el("div", { class: "learned", "aria-live": "polite" });
  const next = el("button", { type: "button" }, "Judge the next one");
  const saveQrels = el("button", { type: "button", class: "quiet", onclick: async () => {
    try { download("qrels.txt", await loadQrels()); } catch (error) { toast(error.message); }
  } }, "Save the judgements");
  const saveModel = el("button", { type: "button", class: "quiet", onclick: async () => {
    const { model } = await loadCode(view.index, 0, "learned");
    download("model.json", `${JSON.stringify(model, null, 2)}\n`, "application/json");
  } }, "Save what was learned");
  let judging = null;
  next.addEventListener("click", () => open(judging.next[0], judging.next[1]));

  const paint = (found) => {
    judging = found;
    const learned = found.learned;
    replace(text,
      el("p", {}, found.judged === 0
        ? "Say of some results whether they are relevant. After every click the cut-off learns again. Unknown results are not taken for irrelevant."
        : [el("b", {}, plural(found.judged, "result")), ` judged in ${plural(found.lists, "query", "queries")}, `, el("b", {}, whole(found.relevant)), " relevant."]),
      learned && el("dl", { class: "metrics" },
        change("kept on average", ...learned.kept), change("kept of this list", ...learned.k),
        el("div", {}, el("dt", {}, "queries cut differently"), el("dd", {}, whole(learned.changed)))),
      learned && el("p", { class: "lead" }, `This list: ${learned.reason}`));
    next.hidden = found.next === null;
    if (found.next) next.textContent = `Judge next: query ${run.queries.id[found.next[0]]}, rank ${found.next[1] + 1}`;
    saveQrels.hidden = found.judged === 0;
    saveModel.hidden = learned === null;
  };
  const change = (label, before, after) => el("div", {}, el("dt", {}, label),
    el("dd", {}, el("small", {}, `${number(before, 3)} → `), number(after, 3)));

  loadJudging(view.index).then(paint, (error) => { text.textContent = error.message; });
  return {
    host: el("div", {}, text, el("div", { class: "buttons" }, next, saveQrels, saveModel)),
    async judge(rank, relevant) {
      text.setAttribute("aria-busy", "true");
      try {
        const found = await sendJudgement(view.index, rank, relevant);
        paint(found.judging);
        refresh(found.run, found.query);
      } catch (error) {
        toast(error.message);
      } finally {
        text.removeAttribute("aria-busy");
      }
    },
  };
}
