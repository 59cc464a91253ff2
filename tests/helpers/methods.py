"""What the tests of all truncators need to know of some."""

from __future__ import annotations

from paretocut import truncators

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
    name for name in truncators.names() if name not in NEURAL and not truncators.make(name).learns
}
