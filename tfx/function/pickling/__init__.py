"""Functions and their traces as pickles."""
