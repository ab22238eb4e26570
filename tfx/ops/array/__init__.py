"""Arrangement of elements: creation, shapes, joining, indexing, sorting."""
