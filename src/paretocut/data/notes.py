"""A small collection for trying things: the docstrings of Python's own functions.

``texts`` are the docstrings and ``names`` the names of the functions. Each of the ``questions``
comes with the names of the functions that answer it. ``unanswered`` are questions without an
answer. ``embed`` turns texts into vectors of length 1. ``search_vectors`` and ``search_words``
return the names and the scores of the best 200, by cosine and by BM25.

As a program it searches for the queries of a file and prints a TREC run:
``python notes.py queries.tsv > run.txt``, or with ``--words`` by BM25.
"""

import collections
import datetime
import inspect
import pathlib
import re
import sys
import zlib
from importlib import import_module

import numpy as np

MODULES = (
    "builtins calendar collections fractions heapq itertools json math random re shutil statistics "
    "string textwrap"
)
OWNERS = (
    *map(import_module, MODULES.split()),
    *(str, bytes, list, dict, set, float, datetime.date, datetime.timedelta, pathlib.Path),
)
found = {}
for owner in OWNERS:
    for name, thing in vars(owner).items():
        text = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
        if callable(thing) and not name.startswith("_") and len(text) > 30:
            found.setdefault(text, f"{owner.__name__}.{name}")
names, texts = list(found.values()), list(found)

questions = {
    "median of the data": "statistics.median statistics.median_low statistics.median_high "
    "statistics.median_grouped",
    "is this string all digits": "str.isdigit str.isdecimal str.isnumeric",
    "split a string into words": "str.split",
    "delete an entire directory tree": "shutil.rmtree",
    "arithmetic mean of numbers": "statistics.mean statistics.fmean",
    "is this a leap year": "calendar.isleap calendar.leapdays",
    "spread of a sample, standard deviation or variance": "statistics.stdev statistics.pstdev "
    "statistics.variance statistics.pvariance",
    "copy a file": "shutil.copy shutil.copy2 shutil.copyfile shutil.copyfileobj",
    "read the text of a file": "Path.read_text",
    "smallest elements of a heap": "heapq.nsmallest heapq.heappop",
    "put an item on a heap": "heapq.heappush heapq.heappushpop heapq.heapreplace",
    "choose a random element": "random.choice random.choices random.sample",
    "shuffle a list": "random.shuffle",
    "inverse hyperbolic functions": "math.acosh math.asinh math.atanh",
    "logarithm of x": "math.log math.log2 math.log10 math.log1p",
    "common elements of two sets": "set.intersection set.intersection_update",
    "elements that are in either of two sets": "set.union set.symmetric_difference "
    "set.symmetric_difference_update set.update",
    "does the string start with a prefix": "str.startswith bytes.startswith",
    "remove white space at the ends of a string": "str.strip str.lstrip str.rstrip",
    "all orderings of the elements": "itertools.permutations",
    "weekday of a date": "date.weekday date.isoweekday calendar.weekday",
    "convert an object to JSON": "json.dumps json.dump json.JSONEncoder",
    "parse a JSON document": "json.loads json.load json.JSONDecoder json.JSONDecodeError",
    "wrap a paragraph of text to a width": "textwrap.wrap textwrap.fill textwrap.TextWrapper",
    "absolute value of a number": "builtins.abs math.fabs",
    "largest elements of a dataset": "heapq.nlargest",
    "convert an angle between degrees and radians": "math.degrees math.radians",
    "create a new directory": "Path.mkdir",
    "rename a file": "Path.rename Path.replace shutil.move",
    "remove a key from a dictionary": "dict.pop dict.popitem",
    "sort the items of a list": "builtins.sorted list.sort",
    "replace part of a string": "str.replace re.sub re.subn",
    "find all matches of a pattern": "re.findall re.finditer",
    "convert a string to upper or lower case": "str.upper str.lower str.swapcase str.casefold",
    "add an item to the end of a list": "list.append list.extend",
    "is the number infinite or not a number": "math.isinf math.isnan math.isfinite",
    "integer part of the square root": "math.isqrt",
    "pad a string with spaces to a width": "str.ljust str.rjust str.center",
    "write text to a file": "Path.write_text",
    "is the path a directory or a file": "Path.is_dir Path.is_file",
    "number of combinations or permutations": "math.comb math.perm",
    "all combinations of the elements": "itertools.combinations "
    "itertools.combinations_with_replacement",
    "random integer in a range": "random.randint random.randrange",
    "most common value": "statistics.mode statistics.multimode",
    "round a number down or up": "math.floor math.ceil",
    "binary, octal or hexadecimal form of an integer": "builtins.bin builtins.oct builtins.hex",
    "date as a string in ISO format": "date.isoformat",
    "make an archive of a directory": "shutil.make_archive",
    "change the owner or permissions of a file": "shutil.chown Path.chmod Path.lchmod",
    "remove an element from a set": "set.remove set.discard",
}

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
    "how many goals did they score in the second half",
    "recipe for a cake without eggs",
    "is the museum open on public holidays",
    "what time does the pharmacy close",
    "my back hurts when I get up in the morning",
    "cheap flights to Lisbon in May",
    "how much water does a lemon tree need",
    "who won the chess championship in 1972",
    "which cheese goes well with figs",
    "the landlord wants to raise the rent",
    "symptoms of a broken toe",
    "when do swallows fly south",
]


def words_of(text):
    """Return the words of a text."""
    return re.findall(r"\w\w+", text.lower())


def letters_of(text):
    """Return the groups of three letters in a text, word by word."""
    padded = [f" {word} " for word in words_of(text)]
    return [word[i : i + 3] for word in padded for i in range(len(word) - 2)]


class Terms:
    """Columns for the terms of texts: the commonest have one each, the others share some."""

    def __init__(self, split, commonest, shared=0):
        self.split, self.shared = split, shared
        common = collections.Counter(term for text in texts for term in split(text))
        self.column = {term: i for i, (term, _) in enumerate(common.most_common(commonest))}
        self.counts = self.count(texts)
        self.rarity = np.log((1 + len(texts)) / (1 + (self.counts > 0).sum(axis=0)))

    def count(self, some):
        """Return one row for each text: how often it has the terms of each column."""
        counts = np.zeros((len(some), len(self.column) + self.shared))
        for row, text in zip(counts, some, strict=True):
            for term in self.split(text):
                if term in self.column:
                    row[self.column[term]] += 1
                elif self.shared:
                    row[len(self.column) + zlib.crc32(term.encode()) % self.shared] += 1
        return counts

    def weigh(self, some):
        """Return one row of length 1 for each text, in which rare terms weigh more."""
        weights = np.log1p(self.count(some)) * self.rarity
        return weights / np.maximum(np.linalg.norm(weights, axis=1, keepdims=True), 1e-9)


words, letters = Terms(words_of, 700, shared=100), Terms(letters_of, 200)
all_words = Terms(words_of, None)


def embed(some):
    """Return one vector for each text: its words, and a little of its letters."""
    vectors = np.hstack([words.weigh(some), 0.4 * letters.weigh(some)]).astype(np.float32)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


vectors = embed(texts)


def search_vectors(question, depth=200):
    """Return the names and scores of the nearest texts, by the cosine of their vectors."""
    return best(vectors @ embed([question])[0].astype(float), depth)


def search_words(question, depth=200):
    """Return the names and scores of the texts that share most with the question, by BM25."""
    counts = all_words.counts
    length = counts.sum(axis=1, keepdims=True)
    saturated = counts / (counts + 0.3 + 0.9 * length / length.mean())
    return best(saturated @ (all_words.rarity * all_words.count([question])[0]), depth)


def best(scores, depth):
    """Return the names and scores of the best, best first."""
    first = np.argsort(-scores, kind="stable")[:depth]
    return [names[i] for i in first], scores[first].round(6)


if __name__ == "__main__":
    search = search_words if "--words" in sys.argv else search_vectors
    with open(sys.argv[-1], encoding="utf-8") as queries:
        for line in queries:
            query, question = line.rstrip("\n").split("\t")
            for rank, (name, score) in enumerate(zip(*search(question), strict=True), start=1):
                print(query, "Q0", name, rank, score, "notes")
