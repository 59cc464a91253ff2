// Elements and numbers. Text is always set as text: nothing from a file becomes HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...there(children));
  return node;
}

// What a condition left out is not there.
const there = (children) => children.flat(3).filter((child) => child !== null && child !== undefined && child !== false);

export const replace = (node, ...children) => node.replaceChildren(...there(children));

export const el = (name, attributes = {}, ...children) =>
  fill(document.createElement(name), attributes, children);

export const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, name), attributes, children);

// A picture that the server drew; all words in it are escaped there.
export const still = (text) => el("div", { class: "still" },
  document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true));

// A wide table in a frame that scrolls, with a shadow on the side where more is hidden.
export const scrolled = (label, table) => el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table);

export const byId = (id) => document.getElementById(id);

// 4 digits, small ones as powers of ten.
export function number(x, digits = 4) {
  if (x === null || x === undefined) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size < 1e-300) return "< 1e-300";
  if (size >= 1e6 || size < 1e-3) {
    const [mantissa, exponent] = x.toExponential(1).split("e");
    const raised = [...String(Number(exponent))].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻").join("");
    return `${mantissa} × 10${raised}`;
  }
  return String(Number(x.toPrecision(digits))).replace("-", "−");
}

// A probability or a count, as short as a narrow table needs it; it is never quite 0.
export const brief = (x) => (x !== null && x < 1e-300 ? "< 1e-300" : x !== null && x < 1e-3 ? x.toExponential(0).replace("-", "−") : number(x, 3));

export const whole = (x) => Math.round(x).toLocaleString("en-US");
export const share = (x) => (x > 0 && x < 0.001 ? "< 0.1 %" : `${Number((100 * x).toPrecision(x < 0.1 ? 1 : 2))} %`);
export const fraction = (x) => (x === null || x === undefined ? "–" : x.toFixed(3));
export const plural = (n, one, many = `${one}s`) => `${whole(n)} ${n === 1 ? one : many}`;
export const signed = (x) => `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(3)}`;

// The best first; what was fitted on these judgements stands apart, at the end.
export const ranked = (methods) => [...methods].sort((a, b) => a.fitted - b.fitted || (b.value ?? -Infinity) - (a.value ?? -Infinity));
export const methodName = (m) => (m.fitted ? `${m.label} (fitted on these judgements)` : m.label);

let hush = 0;
export function toast(message) {
  const box = byId("toast");
  box.textContent = message;
  box.classList.add("shown");
  clearTimeout(hush);
  hush = setTimeout(() => box.classList.remove("shown"), 4000);
}

export async function copyText(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${what} copied`);
  } catch {
    toast("The browser did not allow copying");
  }
}

export function download(name, text, kind = "text/plain") {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type: kind })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
