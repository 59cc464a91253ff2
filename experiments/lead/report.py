"""The page ``docs/lead.md``, from the measurements alone."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from experiments.compare.methods import CEILING, NEURAL
from experiments.lead import answers_report
from experiments.lead.answers_report import head, row
from experiments.lead.runs import FULL, METRICS, SIMPLE
from experiments.lead.summary import JUDGED, OTHER

WIDTH = 100
ZERO = ("fixed_10", "surprise_alpha", "minmax_half", "zero-shot")
PRIOR = ("prior", "prior, lists", "prior, lists, times 0.5", "prior, lists, times 2")


def page(content: Mapping[str, Any]) -> str:
    """Return the page in Markdown."""
    judged, other = content[JUDGED], content[OTHER]
    facts = _facts(content)
    tuned = (*SIMPLE, *NEURAL, "consensus")
    parts = [_wrapped(_INTRODUCTION.format(**facts))]
    for metric in METRICS:
        rule = content["best rule"][metric]
        parts += [
            f"## {metric.upper()}, tuned on judged queries",
            _families(judged, metric, tuned),
            _AGAINST.format(rule=rule) if metric == "f1" else _AGAINST_DCG.format(rule=rule),
            _gains(judged, metric, rule),
            _OTHER if metric == "f1" else "The other kinds of lists.",
            _families(other, metric, (*SIMPLE, "consensus")),
            _gains(other, metric, rule),
        ]
    parts += [
        _wrapped(_CHECK.format(**facts)),
        _check(content["check"], "f1"),
        "The same in DCG:",
        _check(content["check"], "dcg"),
        _WITHOUT,
        "### F1",
        _families(judged, "f1", (*ZERO, *PRIOR, "minmax", "global_k")),
        _families(other, "f1", (*ZERO, *PRIOR, "minmax", "global_k")),
        _untrained(content["untrained"]),
        "### DCG",
        _families(judged, "dcg", (*ZERO, "global_k")),
        _CURVES,
        _curves(content["curves"]),
        _wrapped(_VARIANTS.format(**facts)),
        _variants(content["variants"]["f1"]),
        _VARIANTS_DCG,
        _variants(content["variants"]["dcg"]),
        _wrapped(_CALIBRATION.format(**facts)),
        _bins(content["calibration"]["bins"]),
        _wrapped(_GAP.format(**facts)),
        _bounds(content["bounds"]),
        _REMAINS,
        answers_report.section(content["answers"]),
        _REJECTED,
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _facts(content: Mapping[str, Any]) -> dict[str, str]:
    judged, other = content[JUDGED], content[OTHER]
    f1, dcg = judged["overall"]["f1"], judged["overall"]["dcg"]
    families = {**judged["families"], **other["families"]}
    rows = {**judged["difference"]["f1"]["families"], **other["difference"]["f1"]["families"]}
    worst = min(rows, key=lambda name: rows[name]["gain"][0])
    told = content["bounds"]["f1"]
    number, others, threshold = list(told)[2:5]

    def closed(name: str) -> str:
        return f"{(told[name] - told['minmax']) / (told[CEILING] - told['minmax']):.0%}"

    def below(metric: str, name: str) -> str:
        return _listed(f for f, own in families.items() if own[metric][name] < 0)

    behind = {
        metric: _listed(
            family
            for group in (judged, other)
            for family, own in group["difference"][metric]["families"].items()
            if own["against it"][2] < 0
        )
        for metric in METRICS
    }
    weights = content["weights"]
    return {
        **answers_report.facts(content["answers"]),
        "rule": content["best rule"]["f1"],
        "minmax": f"{f1['minmax']:.3f}",
        "consensus": f"{f1['consensus']:.3f}",
        "gain": _relative(judged["difference"]["f1"]["all"]),
        "other_gain": _relative(other["difference"]["f1"]["all"]),
        "all_gain": _relative(content["all"]["f1"]),
        "worst": worst,
        "worst_gain": f"{rows[worst]['gain'][0]:+.1%}",
        "behind_f1": behind["f1"],
        "behind_dcg": behind["dcg"],
        "dcg": f"{dcg['consensus']:.3f}",
        "dcg_rule": content["best rule"]["dcg"],
        "dcg_best": f"{dcg[content['best rule']['dcg']]:.3f}",
        "dcg_below": below("dcg", "consensus"),
        "zero_below": below("dcg", "zero-shot"),
        "zero": f"{f1['zero-shot']:.3f}",
        "told": f"{f1['prior, lists']:.3f}",
        "half": f"{f1['prior, lists, times 0.5']:.3f}",
        "twice": f"{f1['prior, lists, times 2']:.3f}",
        "global_k": f"{f1['global_k']:.3f}",
        "other_told": f"{other['overall']['f1']['prior, lists']:.3f}",
        "other_minmax": f"{other['overall']['f1']['minmax']:.3f}",
        "runs": str(content["bounds"]["runs"]),
        "own_number": closed(number),
        "others_number": closed(others),
        "others_threshold": closed(threshold),
        **_checked(content["check"]),
        "weights": _listed(f"{weights[name]:g} ({name})" for name in weights),
        "error": f"{content['calibration']['error, mean']:.3f}",
        "largest_error": f"{content['calibration']['error, largest']:.3f}",
    }


def _wrapped(text: str) -> str:
    """Return paragraphs and items filled anew, now that the numbers are in them."""
    fill = textwrap.TextWrapper(WIDTH, break_on_hyphens=False, break_long_words=False)
    blocks = []
    for block in text.strip().split("\n\n"):
        items = block.split("\n- ")
        if block.startswith("#"):
            blocks.append(block)
        elif block.startswith("- "):
            items[0] = items[0].removeprefix("- ")
            fill.initial_indent, fill.subsequent_indent = "- ", "  "
            blocks.append("\n".join(fill.fill(" ".join(item.split())) for item in items))
        else:
            fill.initial_indent = fill.subsequent_indent = ""
            blocks.append(fill.fill(" ".join(block.split())))
    return "\n\n".join(blocks)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _relative(gain: Iterable[float]) -> str:
    return "{:+.1%} ({:+.1%} to {:+.1%})".format(*gain)


def _families(group: Mapping[str, Any], metric: str, names: Iterable[str]) -> str:
    families = group["families"]
    text = head(["method", *(f"{f} ({own['runs']})" for f, own in families.items()), "all"])
    for name in (*names, CEILING):
        cells = [families[family][metric][name] for family in families]
        cells.append(group["overall"][metric][name])
        text += row([f"`{name}`", *(f"{value:.3f}" for value in cells)])
    return text


def _gains(group: Mapping[str, Any], metric: str, rule: str) -> str:
    rows = group["difference"][metric]
    kind = "{:+.1%} ({:+.1%} to {:+.1%})" if metric == "f1" else "{:+.3f} ({:+.3f} to {:+.3f})"
    text = head(["family", f"against `{rule}`", "best of the family", "against that"])
    for family, own in rows["families"].items():
        cells = [kind.format(*own["gain"]), f"`{own['best']}`", kind.format(*own["against it"])]
        text += row([family, *cells])
    return text + row(["all", kind.format(*rows["all"]), "", ""])


def _untrained(groups: Mapping[str, Any]) -> str:
    text = "Gain over `minmax` tuned on judged queries, with intervals:\n\n"
    names = list(next(iter(groups.values())))
    text += head(["family", *(f"`{name}`" for name in names)])
    for group, rows in groups.items():
        for family in rows[names[0]]:
            shown = f"all {group}" if family == "all" else family
            text += row([shown, *(_relative(rows[name][family]) for name in names)])
    return text


def _check(rows: Mapping[str, Any], metric: str) -> str:
    names = list(next(iter(rows.values()))[metric])
    text = head(["lists", "queries", *(f"`{name}`" for name in names)])
    for run, own in rows.items():
        text += row([run, str(own["queries"]), *(f"{own[metric][name]:.3f}" for name in names)])
    return text


def _checked(rows: Mapping[str, Any]) -> dict[str, str]:
    """Return the mean gains of the check, over min-max and over the best rule of each line."""

    def gain(ours: str, rules: Iterable[str]) -> str:
        best = [(own["f1"][ours], max(own["f1"][rule] for rule in rules)) for own in rows.values()]
        return f"{np.mean([a / b - 1 for a, b in best]):+.1%}"

    simple = [name for name in next(iter(rows.values()))["f1"] if name in SIMPLE]
    return {
        "check_gain": gain("consensus", ["minmax"]),
        "check_best": gain("consensus", simple),
        "check_prior": gain("prior, lists", ["minmax"]),
    }


def _curves(rows: Mapping[str, Any]) -> str:
    names = ["global_k", "minmax", "z", "consensus"]
    gains = ["gain over minmax", "gain over the best of three"]
    text = head(["judged queries", "runs", *names, *gains])
    for size, own in rows.items():
        cells = [f"{own[name]:.3f}" for name in names] + [f"{own[name]:+.1%}" for name in gains]
        text += row([size, str(own["runs"]), *cells])
    return text


def _variants(rows: Mapping[str, Any]) -> str:
    text = head(["variant", JUDGED, OTHER])
    ordered = {FULL: rows[FULL], **rows}
    return text + "".join(
        row([name, *(f"{own[group]:.4f}" for group in (JUDGED, OTHER))])
        for name, own in ordered.items()
    )


def _bounds(content: Mapping[str, Any]) -> str:
    return head(["told", "F1"]) + "".join(
        row([name, f"{value:.3f}"]) for name, value in content["f1"].items()
    )


def _bins(rows: Iterable[Mapping[str, Any]]) -> str:
    text = head(["probability", "results", "mean probability", "share relevant"])
    return text + "".join(
        row(
            [
                f"{own['from']:g} to {own['to']:g}",
                f"{own['results']:,}",
                f"{own['predicted']:.3f}",
                f"{own['actual']:.3f}",
            ]
        )
        for own in rows
    )


_INTRODUCTION = """
# How far can one go?

The best that this library can do with nothing but scores, and where a simple rule cannot be
beaten: `Consensus` on 22 judged runs of five collections, and on 11 sets of lists of other kinds.
`make lead` makes this page and `docs/lead.json`; written by hand are the words and the last table.

In short:

- **F1, tuned on judged queries.** On the judged runs `Consensus` has a mean of {consensus}, the
  best single rule, `{rule}`, {minmax}: a mean relative gain of {gain}. On other kinds of lists,
  where another rule is best for each kind, it gains {other_gain}; on all lists {all_gain}. The
  family with the smallest gain is {worst}, {worst_gain}. Families where it is behind the best rule
  or network of that very family, beyond the interval: {behind_f1}. We had set out for 5 % and did
  not find them in the scores of ad-hoc runs: see
  [the gap to the oracle](#the-gap-to-the-oracle).
- **DCG, tuned**: {dcg} against {dcg_best} of `{dcg_rule}` on the judged runs. Families below 0,
  what keeping nothing brings: {dcg_below}. Behind the best method of the family beyond the
  interval: {behind_dcg}.
- **Without a judgement**, keeping the upper half of the score range, but not more than if 50
  results were relevant, gives F1 {zero}, and nothing learned on other collections was better on a
  new one. With **one number**, how many relevant
  results a list holds on average, and unjudged lists of the system, F1 is {told}: as good as
  tuning min-max on judged queries ({minmax}). The same holds on the other kinds of lists
  ({other_told} and {other_minmax}). A number off by a factor of two still gives {half} (half) or
  {twice} (twice), more than tuned Global-k ({global_k}).
- **Answer or none**: `Consensus("accuracy")` is more accurate than every other method on {ahead}
  of {tasks} tasks, by {smallest} to {largest}; beyond the interval on: {sure}.

**The lists.** Judged runs: Robust04, TREC Deep Learning, CLEF TAR, Vaswani and SciFact, as in
[the comparison](results.md). Other kinds, made here: Reuters stories found by their title (one is
right) and by topic, C50 articles by author, images of digits, Omniglot drawings of a character;
searched by BM25, TF-IDF, its leading singular vectors, pixels and a trained encoder.

**Protocol.** Tuned: fitted on half of the queries and tested on the other half, five times both
ways (twenty times in runs of fewer than 60 queries, where one half differs much from the other),
for the metric of the table. The networks were trained five times both ways; see
[the comparison](results.md). What `Consensus` knows of other collections was learned without the
corpus it is tested on. Its keys, the weight of other collections, the columns of its regression,
its penalty and its caution were chosen while looking at results on these lists, so part of the
gain is choice; the tables of variants show how little most of them matter, and what a weight
chosen on other corpora gives. What is shipped was learned from all of them. Means are over
queries, then over the runs of a family; "all" is the mean over runs. Intervals are 95 % bootstrap
intervals over queries. F1 has the relevant results *in the list* as recall base, DCG is +1 or -1
over log2(rank + 1). Numbers of runs are in brackets. `oracle` sees the judgements.
"""

_AGAINST = """
`consensus` against `{rule}`, the best single rule on these runs, and against the rule or network
that is best in the family with hindsight.
"""

_AGAINST_DCG = """
Differences to `{rule}`, the best single rule on these runs, and to the best method of the family
with hindsight.
Where its cuts lose in cross-validation on the judged queries, `Consensus` keeps nothing.
"""

_OTHER = """
The other kinds of lists. A fixed number of results or a threshold on z is better here than
min-max for most kinds, as every query has about as many relevant results as any other; for a
single right story neither is. The vote finds that out.
"""

_CHECK = """
## Lists that no choice was made on

Eight more sets of lists, made when `Consensus` was as it is for judged queries: other systems on
Vaswani, other claims of SciFact, other features of C50, and digits of which the index has 10 to 118
images. The mean relative gain in F1 over `minmax` is {check_gain}, over the best rule of each line,
chosen with hindsight, {check_best}; that of the prior and unjudged lists over tuned `minmax`,
{check_prior}.
"""

_WITHOUT = """
## Without judgements

`zero-shot` is `Consensus()` as it comes (that 50 results are relevant at most, and for DCG the
lower quartile of the votes, were chosen while looking at these lists; 35 to 100 differ little);
`prior` is told the mean number of relevant results in the lists of the run, `prior, lists` also
sees the lists, unjudged; "times" is told a number that is wrong by that factor. `minmax` and
`global_k`, tuned on judged queries, are for comparison.
The mean number was taken from all judged queries of the run: it is knowledge a user may have,
not something the method found. Slopes and decision rule behind the prior were fixed before the
other kinds of lists were made.
"""

_CURVES = """
## Learning curves

Mean F1 by the number of judged queries, five random choices each, over the judged runs and other
kinds with enough queries (so rows are of different runs). The best of three is chosen with
hindsight for every run and number of queries.
"""

_VARIANTS = """
## What gives what

### F1: the vote

Mean over runs, five random halves both ways (not those of the tables above). Weights of other
collections that would have been chosen on other corpora: {weights}.
"""

_VARIANTS_DCG = """
### DCG: the regression

Mean over runs, one random halving both ways. The vote of rules, in place of the regression, had
0.36 on the judged runs and 1.39 on other kinds in exploration; as a utility of +1 and -1 per
result the regression had 0.52 there and the vote 0.40.
"""

_CALIBRATION = """
## Are the probabilities right?

`predict_proba` after `fit` on one half of the queries, on the other half. The mean difference
between probability and share, over these classes, is {error} on the average run and
{largest_error} on the worst. Rank 1 counts as much as ranks 2 and 3 together in the regression, or
4 to 7, so that the top of a list is not sacrificed to its thousand others; the price is paid far
down, where probabilities are small.
"""

_GAP = """
## The gap to the oracle

Is the information in the scores at all? On the {runs} judged runs that share their queries with
another system, a cut was told something that no score says. The number of relevant results in
the very list, and nothing else, closes {own_number} of the gap between `minmax` and `oracle`;
their mean number in the lists of *other* systems for the same query, {others_number}; the min-max
threshold that is best for the other systems' lists of the same query, {others_threshold}.
"""

_REMAINS = """
So what is missing is, for a good part, how many relevant results *this query* has, and that is a
property of the query that its list hardly shows. Everything we tried to read it from the shape of
the list failed on new queries: forests and ridge regressions of the F1 of each threshold on 28
properties of the list changed cross-validated F1 by -2.2 to +0.4 %, thresholds that are linear in
13 columns and learned on all collections together gain at most 2.7 % *on the lists they were
learned from*, and networks that read the whole list are behind min-max (tables above). The rest of
the gap is how relevant results happen to lie in this very list, which only judgements show.
"""

_REJECTED = """
## Tried and rejected

Mean F1 over the 22 judged runs (min-max tuned: 0.322; upper half of the range, untrained: 0.281).
All numbers are from exploration with the same data and are given as orders of magnitude, not as
tests.

| idea | F1 |
|---|---:|
| logistic regression per result, cut at the highest expected F1 | 0.319 |
| the same on eleven columns, drawn towards other collections | 0.317 |
| slopes and level of the log-odds chosen for the F1 of expected cuts | 0.320 to 0.324 |
| the same number of relevant results expected in every list, tuned | 0.318 |
| best of 20 keys by training F1 | 0.320 to 0.322 |
| votes weighted by exp(training F1), Gibbs posterior | 0.321 to 0.325 |
| relevance of training lists carried over to the list at equal min-max scores | 0.311 to 0.320 |
| mixture over query difficulty, fitted by EM, expected F1 (in-sample!) | 0.316 to 0.318 |
| min-max against the median, quartile or 100th score instead of the last | 0.311 to 0.322 |
| forest or ridge regression of the F1 of each threshold on the list | 0.316 to 0.324 |
| gradient boosting per result on other collections, untrained here | 0.264 |
| network for expected F1 on other collections, untrained here | 0.254 to 0.263 |
| its output as a key with a tuned threshold | 0.305 |
| threshold linear in 17 properties of the list, untrained here | 0.240 to 0.260 |
| the same by a small network | 0.228 to 0.243 |
| vote of other collections, untrained here | 0.259 |

What is learned about *lists* on one collection does not carry to another, even with ten
collections to learn from; what is learned about *results within a list* (min-max score, a little
rank) does. For F1 per-result probabilities cut worse than a threshold, even where they are right on
average: a list with more results above a threshold has more relevant ones, too, and independent
probabilities do not know. For DCG and utilities, to which each result adds its own part, they
are better than any rule.

The two readings of surprise are not among the keys: they cost the fit of a tail for each list, and
the line "with surprise" above shows what they would add beside z, which also measures how far the
top stands out from its list.
"""
