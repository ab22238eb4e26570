"""Staging: ``function``, its traces and the plans that run them."""
