"""The matrix of models of others: what is equal to the source after an import; ``docs/models.md``."""
