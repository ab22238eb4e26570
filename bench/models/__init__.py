"""What of models of others is equal to the source: the matrix in ``docs/models.md``."""
