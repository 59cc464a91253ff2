"""The best scores of queries without an answer: the law they follow, and tests against it."""

from paretocut.background.law import Background, fit_gev, gev_log_cdf
from paretocut.background.query_scale import QueryScale
from paretocut.background.seen import Origin, Seen

__all__ = ["Background", "Origin", "QueryScale", "Seen", "fit_gev", "gev_log_cdf"]
