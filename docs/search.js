// Guides come first in the search: those with the words in their title, then the others, then the
// reference and the evidence. The other numbers are the defaults of Sphinx.
var Scorer = {
  score: ([docname, title, anchor, descr, score, filename, kind]) =>
    score +
    (kind === "title" && !anchor ? 50 : 0) -
    (/^(api|evidence|changes)/.test(docname) ? 100 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
