"""OpenSearch: the answers of ``client.search``, which have the form of Elasticsearch's."""

from __future__ import annotations

from paretocut.adapters.elasticsearch import cut_search, fuse_searches

__all__ = ["cut_search", "fuse_searches"]
