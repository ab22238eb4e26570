"""Graph passes, one a file: a graph in, a new graph out. ``pipeline`` has their usual sequence."""
