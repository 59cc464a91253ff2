"""What the tests of all truncators need to know of some."""

from __future__ import annotations

NEURAL = {"bicut", "choppy", "attncut"}

NEEDS = {
    **dict.fromkeys(NEURAL, ("torch",)),
    **dict.fromkeys(("local_k", "isotonic_local"), ("sklearn",)),
    **dict.fromkeys(("isotonic", "isotonic_max"), ("sklearn",)),
    "surprise_local": ("sklearn",),
    "knee": ("kneed",),
}
# Learn nothing, so that predict works without fit.
LABEL_FREE = {
    *("oracle", "fixed_k", "distribution", "distribution_truncated"),
    *("largest_gap", "autocut", "knee", "top_p"),
}
