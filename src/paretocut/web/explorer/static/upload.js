// A run from a file or the clipboard.

import { byId, el, toast } from "./dom.js";
import { upload } from "./source.js";

const EXAMPLE = "0.91 0.88 0.86 0.52 0.51 0.49 0.48 0.46 …   or lines of a TREC run, JSONL or CSV";

async function textOf(file) {
  if (!/\.gz$/.test(file.name)) return file.text();
  return new Response(file.stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

export function showStart(opened) {
  const paste = el("textarea", { id: "paste", rows: 8, placeholder: EXAMPLE, spellcheck: "false" });
  const run = el("input", { type: "file", id: "run-file" });
  const qrels = el("input", { type: "file", id: "qrels-file" });
  const distances = el("input", { type: "checkbox", id: "distances" });
  const problem = el("p", { class: "problem", role: "alert" });
  const button = el("button", { type: "submit", class: "primary" }, "Explore");
  const form = el("form", { onsubmit: async (event) => {
    event.preventDefault();
    problem.textContent = "";
    button.disabled = true;
    try {
      const file = run.files[0];
      const given = { run: file ? await textOf(file) : paste.value, name: file?.name ?? "pasted", distances: distances.checked };
      if (qrels.files[0]) given.qrels = await textOf(qrels.files[0]);
      const answer = await upload(given);
      if (answer.notes.length) toast(answer.notes.join("; "));
      opened(answer.session);
    } catch (error) {
      problem.textContent = error.message;
    } finally {
      button.disabled = false;
    }
  } },
    el("label", { for: "paste" }, "Paste scores of one list, or a run"), paste,
    el("div", { class: "files" },
      el("label", {}, "or a run from a file", run),
      el("label", {}, "judgements (TREC qrels), if there are any", qrels)),
    el("label", { class: "check" }, distances, " the scores are distances: lower is better"),
    problem, button);
  byId("start").replaceChildren(
    el("div", { class: "welcome" }, el("h1", {}, "How many results should a search return?"),
      el("p", { class: "lead" }, "Open a ranked list, drag the cut, and see what each choice means. Nothing leaves this machine."),
      el("section", { class: "card" }, form)));
}
