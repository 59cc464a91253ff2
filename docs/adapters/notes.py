"""A small collection for the pages on adapters: what Python's functions say of themselves.

``texts`` are their descriptions and ``names`` their names; ``unanswered`` are questions to which
the collection has no answer; ``embed`` turns texts into vectors of length 1.
"""

import builtins
import calendar
import collections
import datetime
import fractions
import heapq
import inspect
import itertools
import json
import math
import os
import pathlib
import random
import re
import shutil
import statistics
import string
import textwrap

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import FeatureUnion

_OWNERS = (
    *(builtins, calendar, collections, fractions, heapq, itertools, json, math, os, random, re),
    *(shutil, statistics, string, textwrap, str, bytes, list, dict, set, float),
    *(datetime.date, datetime.timedelta, pathlib.Path),
)
_first_paragraph = {
    f"{owner.__name__}.{name}": " ".join(inspect.getdoc(thing).split("\n\n")[0].split())
    for owner in _OWNERS
    for name, thing in vars(owner).items()
    if callable(thing) and not name.startswith("_") and inspect.getdoc(thing)
}
_found = {text: name for name, text in _first_paragraph.items() if len(text) > 30}
names, texts = list(_found.values()), list(_found)

unanswered = [
    "how long do I boil an egg for breakfast",
    "opening hours of the swimming pool on Sunday",
    "my tenant has not paid the rent since March",
    "best trail for a hike with a small dog",
    "which vaccine does a kitten need first",
    "who painted the ceiling of the chapel",
    "symptoms of the flu in young children",
    "train from Vienna to Prague with a bicycle",
    "how deep should I plant tulips in autumn",
    "the referee showed him a yellow card",
    "a good red wine to go with lamb",
    "what does the warranty of my fridge cover",
]

_words = TfidfVectorizer(stop_words="english", sublinear_tf=True, max_features=800)
_letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), max_features=200)
_model = FeatureUnion(
    [("words", _words), ("letters", _letters)], transformer_weights={"words": 1.0, "letters": 0.4}
).fit(texts)


def embed(some):
    """Return one vector for each text: its words, and a little of its letters."""
    vectors = _model.transform(some).toarray().astype(np.float32)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
