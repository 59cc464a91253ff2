// A decision as code: to be copied, or saved as a model.

import { copyText, download, el, toast } from "./dom.js";

const KINDS = [["python", "Copy as Python"], ["command", "Copy as command"], ["model", "Copy as model"]];

export function takeAway(load) {
  const note = el("p", { class: "lead", hidden: true });
  const shown = el("pre", { tabindex: 0, "aria-label": "What was copied", hidden: true });
  const text = (found, kind) => (kind === "model" ? `${JSON.stringify(found.model, null, 2)}\n` : found[kind]);
  const doing = (then) => async () => {
    try { await then(await load()); } catch (error) { toast(error.message); }
  };
  return el("div", {},
    el("div", { class: "buttons" },
      KINDS.map(([kind, label]) => el("button", { type: "button", onclick: doing(async (found) => {
        const copied = text(found, kind) ?? "# Pasted scores have no file that a command could read; copy it as Python.\n";
        shown.textContent = copied;
        shown.hidden = false;
        note.textContent = found.note;
        note.hidden = !found.note;
        await copyText(copied, label.replace("Copy as ", "The "));
      }) }, label)),
      el("button", { type: "button", class: "quiet", onclick: doing((found) => download("model.json", text(found, "model"), "application/json")) }, "Save the model")),
    note, shown);
}
