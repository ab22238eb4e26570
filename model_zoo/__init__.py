"""Real models and the programs that train them; installed as ``tfx.model_zoo``.

They are written as a user would write them: with the public names of ``tfx`` and nothing else.
"""
