"""A GPT-style decoder over characters, with its cache of keys and values as state."""
