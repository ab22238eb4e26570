"""From a Python function and the arguments of a call to a trace: a graph that serves the call."""
