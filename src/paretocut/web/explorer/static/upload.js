// A run from a file or the clipboard.

import { byId, el, toast } from "./dom.js";
import { openExample, upload } from "./source.js";

const EXAMPLE = "0.91 0.88 0.86 0.52 0.51 0.49 0.48 0.46 …   or [0.9, 0.4] [0.8, 0.7], or lines of a TREC run, JSONL or CSV";

// The bytes of a file as base64; the server unpacks and reads it as the command line does.
const bytesOf = (file) => new Promise((done, failed) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
  reader.onerror = () => failed(new Error(`${file.name} cannot be read`));
  reader.readAsDataURL(file);
});

export function showStart(opened) {
  const paste = el("textarea", { id: "paste", rows: 8, placeholder: EXAMPLE, spellcheck: "false" });
  const run = el("input", { type: "file", id: "run-file" });
  const more = { qrels: "judgements (TREC qrels)", query_texts: "texts of the queries", corpus: "texts of the documents" };
  const inputs = Object.fromEntries(Object.keys(more).map((key) => [key, el("input", { type: "file", id: `${key.replace("_", "-")}-file` })]));
  const distances = el("input", { type: "checkbox", id: "distances" });
  const problem = el("p", { class: "problem", role: "alert" });
  const button = el("button", { type: "submit", class: "primary" }, "Explore");
  const form = el("form", { onsubmit: async (event) => {
    event.preventDefault();
    problem.textContent = "";
    button.disabled = true;
    try {
      const file = run.files[0];
      const given = { run: paste.value, name: file?.name ?? "pasted", distances: distances.checked, files: {} };
      for (const [key, input] of Object.entries({ run, ...inputs })) if (input.files[0]) given.files[key] = await bytesOf(input.files[0]);
      const answer = await upload(given);
      if (answer.notes.length) toast(answer.notes.join("; "));
      opened(answer.session);
    } catch (error) {
      problem.textContent = error.message;
    } finally {
      button.disabled = false;
    }
  } },
    el("label", { for: "paste" }, "Paste scores, or a run"), paste,
    el("div", { class: "files" },
      el("label", {}, "or a run from a file", run),
      Object.entries(more).map(([key, label]) => el("label", {}, `${label}, if there are any`, inputs[key]))),
    el("label", { class: "check" }, distances, " the scores are distances: lower is better"),
    problem, button);
  const example = el("button", { type: "button", onclick: async () => {
    example.disabled = true;
    try { opened((await openExample()).session); } catch (error) { problem.textContent = error.message; } finally { example.disabled = false; }
  } }, "Try the example");
  byId("start").replaceChildren(
    el("div", { class: "welcome" }, el("h1", {}, "How many results should a search return?"),
      el("p", { class: "lead" }, "Open a ranked list, drag the cut, and see what each choice means. Nothing leaves this machine."),
      el("p", {}, example, el("span", { class: "lead" }, " Judged questions about Python's functions, and some without an answer.")),
      el("section", { class: "card" }, form)));
}
