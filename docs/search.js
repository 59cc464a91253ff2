// Guides come first in the search: what is in a title counts most, and the reference and the evidence
// come after the guides. The other numbers are the defaults of Sphinx.
var Scorer = {
  score: ([docname, title, anchor, descr, score]) =>
    /^(api|evidence|changes)/.test(docname) ? score - 100 : score,
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
