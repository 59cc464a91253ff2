// What is looked at, all of it in the address: a copied link shows the same.

const DEFAULTS = {
  run: "run", // which run is open
  view: document.getElementById("report") ? "report" : "run", // or query, judge, compare
  q: null, // name of the query
  k: null, // a cut by eye; null is the method's own
  m: "default", // the method that decides
  base: "first10", // what gains are measured against
  metric: null, // that methods are measured by; null is the one the explorer was started with
  other: null, // the run to compare with
  sort: "disagreement",
  find: "",
  zoom: "head", // head, all or log
  gate: null, // a threshold of the best score, chosen by eye
  theme: null, // light or dark; null is the system's
};

export const state = { ...DEFAULTS };

export function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  Object.assign(state, DEFAULTS);
  for (const name of Object.keys(DEFAULTS)) if (given.has(name)) state[name] = given.get(name);
  state.gate = Number.isFinite(Number.parseFloat(state.gate)) ? Number.parseFloat(state.gate) : null;
  state.k = state.k === null || !/^\d+$/.test(state.k) ? null : Number(state.k);
}

function hashOf(changes = {}) {
  const changed = Object.entries({ ...state, ...changes }).filter(([name, value]) => value !== DEFAULTS[name] && value !== null);
  return "#" + new URLSearchParams(changed);
}

export const addressOf = (changes) => hashOf(changes);

// Going to another query is a step that "back" undoes; moving the cut is not.
export function update(changes, { step = false } = {}) {
  Object.assign(state, changes);
  const address = location.pathname + location.search + hashOf();
  if (step) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

export const link = () => location.origin === "null" || location.protocol === "file:"
  ? location.href.split("#")[0] + hashOf()
  : location.origin + location.pathname + location.search + hashOf();
