"""Derivatives of whole functions, and of the branches, loops and calls inside of them."""
