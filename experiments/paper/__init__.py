"""The experiments of Bahri et al., "Surprise: Result List Truncation via Extreme Value Theory"."""
