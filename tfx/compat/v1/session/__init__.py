"""``Session``: parts of a graph compiled to functions of their feeds, and run."""
