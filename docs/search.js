// Guides come first in the search: those with the words in their title, then the others, then the
// reference and the evidence. For words that many pages have, the page that answers comes first.
const ANSWERS = [
  [/threshold|cut-?off/i, "calibrate"],
  [/\btop.?k\b|how many/i, "recipes/chunks"],
  [/\bno (results?|answers?)\b|\bnothing\b|\bempty\b|don.?t know/i, "recipes/no-answer"],
  [/\brrf\b|reciprocal|hybrid/i, "recipes/two-retrievers"],
  [/\bcach/i, "recipes/cache"],
  [/\bmemor/i, "recipes/memory"],
  [/\bre-?rank/i, "recipes/reranker"],
];
const asked = new URLSearchParams(location.search).get("q") ?? "";

// The other numbers are the defaults of Sphinx.
var Scorer = {
  score: ([docname, title, anchor, descr, score, filename, kind]) =>
    score +
    (kind === "title" && !anchor ? 50 : 0) -
    (/^(api|evidence|changes)/.test(docname) ? 100 : 0) +
    (!anchor && ANSWERS.some(([words, page]) => docname === page && words.test(asked)) ? 200 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
