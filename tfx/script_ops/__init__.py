"""Python code as an operation of a graph."""
