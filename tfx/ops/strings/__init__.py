"""``tfx.strings``: operations on strings."""
