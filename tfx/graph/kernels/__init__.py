"""Corrections: operators that the runtime lacks or computes wrongly, by ones that it has."""
