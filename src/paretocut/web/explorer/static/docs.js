// The page on which the service can be tried. The service describes itself; nothing is known here.

import { byId, copyText, el, replace } from "./dom.js";

const token = () => byId("token").value.trim();

function send(method, path, body) {
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  if (token()) headers.Authorization = `Bearer ${token()}`;
  return fetch(path.slice(1), { method, headers, body });
}

// A word for a shell: a quote inside becomes '\''.
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function asCurl(method, path, body) {
  const parts = ["curl", "-s", quoted(new URL(path.slice(1), location.href).href)];
  if (token()) parts.push("-H", quoted(`Authorization: Bearer ${token()}`));
  if (body !== undefined) parts.push("-d", quoted(body));
  return parts.join(" ");
}

// Indented JSON, with plain lists on one line.
const pretty = (value) => JSON.stringify(value, null, 1).replace(/\[[^[\]{}]*\]/g, (list) => list.replace(/\n\s*/g, " "));

const resolved = (schemas, schema) => (schema.$ref ? schemas[schema.$ref.split("/").pop()] : schema);

function kind(schema) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.filter((one) => one.type !== "null").map(kind).join(" or ");
  if (schema.enum ?? schema.const) return [schema.enum ?? schema.const].flat().join(", ");
  return schema.type === "array" ? `list of ${kind(schema.items)}` : schema.type;
}

function fields(title, schema) {
  const row = ([name, about]) =>
    el("tr", {}, el("th", { scope: "row" }, el("code", {}, name)), el("td", {}, kind(about)), el("td", {}, about.description ?? ""));
  const head = el("tr", {}, ...["field", "type", "meaning"].map((name) => el("th", { scope: "col" }, name)));
  return el("details", {}, el("summary", {}, "Fields"),
    el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": `Fields of ${title}` },
      el("table", {}, el("thead", {}, head), el("tbody", {}, ...Object.entries(schema.properties).map(row)))));
}

function address(path, method, about, schemas) {
  const json = about.requestBody?.content["application/json"];
  const schema = json && resolved(schemas, json.schema);
  const title = `${method.toUpperCase()} ${path}`;
  const box = json && el("textarea", { rows: 8, spellcheck: "false", "aria-label": `Body of ${title}` });
  if (box) box.value = pretty(schema.examples[0]);
  const answer = el("pre", { class: "answer", tabindex: "0", role: "status", "aria-label": `Answer of ${title}`, hidden: true });
  const ask = async () => {
    const began = performance.now();
    answer.hidden = false;
    try {
      const found = await send(method.toUpperCase(), path, box?.value);
      const text = await found.text();
      const shown = found.headers.get("content-type") === "application/json" ? pretty(JSON.parse(text)) : text;
      answer.textContent = `${found.status} in ${(performance.now() - began).toFixed(0)} ms\n${shown.slice(0, 20000)}`;
    } catch {
      answer.textContent = "The service does not answer. Is it still running?";
    }
  };
  return el("section", { class: "card" },
    el("h2", {}, el("code", {}, title)),
    el("p", {}, json ? `${about.summary}.` : about.description),
    box,
    el("p", { class: "row" },
      el("button", { type: "button", onclick: ask }, "Send"),
      el("button", { type: "button", class: "quiet", onclick: () => copyText(asCurl(method, path, box?.value), "Command") }, "Copy as curl")),
    answer,
    schema && fields(title, schema));
}

async function start() {
  const found = await send("GET", "/openapi.json");
  byId("secured").hidden = found.status !== 401 && !token();
  byId("problem").textContent = found.ok ? "" : (await found.json()).error.message;
  if (!found.ok) return;
  const described = await found.json();
  byId("version").textContent = described.info.version;
  const pairs = Object.entries(described.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, about]) => [path, method, about]));
  pairs.sort((a, b) => (a[1] === "post" ? 0 : 1) - (b[1] === "post" ? 0 : 1));
  replace(byId("addresses"), ...pairs.map(([path, method, about]) => address(path, method, about, described.components.schemas)));
}

byId("token").addEventListener("change", start);
start();
