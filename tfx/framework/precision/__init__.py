"""Policies of mixed precision, and variables that are read in another dtype."""
