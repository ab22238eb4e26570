"""Reverse-mode differentiation: the tape and the walk back over what it recorded."""
