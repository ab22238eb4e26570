"""A network for a table of numbers, beside the numbers of scikit-learn."""
