"""Benchmarks: each number is a ratio of two measurements of the same run. ``make bench``."""
