"""What queries without an answer score: the null of the best score of a list."""

from paretocut.background.law import Background, fit_gev, gev_log_cdf
from paretocut.background.query_scale import QueryScale
from paretocut.background.two_groups import Groups

__all__ = ["Background", "Groups", "QueryScale", "fit_gev", "gev_log_cdf"]
