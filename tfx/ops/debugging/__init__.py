"""``tfx.debugging`` and ``tfx.print``: checks of tensors, eagerly and in graphs."""
