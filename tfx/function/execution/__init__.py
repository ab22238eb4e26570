"""Calls of traces: plans, feeds, results, variables that are read and written, errors."""
