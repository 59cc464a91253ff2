"""How likely each result is relevant: scale of scores, logistic regression, partial judgements."""
