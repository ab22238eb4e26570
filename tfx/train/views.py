"""Views of object graphs: of objects, of a checkpoint, and what both have in common."""

from __future__ import annotations

import os
from collections import deque
from typing import Any

from tfx.framework import trackable
from tfx.train.object_graph import edges_of
from tfx.train.reader import CheckpointReader, load_checkpoint


class TrackableView:
    """The objects that an object leads to, as a checkpoint of it would hold them.

    Args:
        root: A module, a checkpoint, or another object with variables.

    Example:
        >>> import tfx as tf
        >>> module = tf.Module()
        >>> module.w = tf.Variable(1.0)
        >>> list(tf.train.TrackableView(module).children(module))
        ['w']
    """

    def __init__(self, root: Any) -> None:
        self._root = root

    @classmethod
    def children(cls, obj: Any, save_type: Any = None, **kwargs: Any) -> dict[str, Any]:
        """The parts of an object by name.

        Args:
            obj: The object.
            save_type: Accepted for compatibility.
            **kwargs: Accepted for compatibility.
        """
        return dict(trackable.children(obj))

    @property
    def root(self) -> Any:
        """The object that the view begins with."""
        return self._root

    def descendants(self) -> list[Any]:
        """All objects, each once: the root, then those nearest to it."""
        return [node.item for node in trackable.walk(self._root)]


class CheckpointView:
    """The objects of a checkpoint, by number; 0 is the root.

    Args:
        save_path: What ``tf.train.Checkpoint.save`` or ``write`` returned.

    Raises:
        NotFoundError: there is no checkpoint.

    Example:
        >>> import os, tempfile
        >>> import tfx as tf
        >>> module = tf.Module()
        >>> module.w = tf.Variable(1.0)
        >>> path = tf.train.Checkpoint(root=module).write(os.path.join(tempfile.mkdtemp(), "step"))
        >>> view = tf.train.CheckpointView(path)
        >>> view.children(0)
        {'w': 1}
        >>> matched, only_saved, only_here = view.diff(module)
        >>> matched[1] is module.w, only_saved, only_here
        (True, [], [])
    """

    def __init__(self, save_path: str | os.PathLike[str]) -> None:
        reader: CheckpointReader = load_checkpoint(save_path)
        self._nodes = reader.nodes
        reader.close()

    def children(self, node_id: int) -> dict[str, int]:
        """The numbers of an object's parts by name.

        Args:
            node_id: The object's number.

        Raises:
            IndexError: there is no object of this number.
        """
        return dict(self._nodes[node_id].children)

    def descendants(self) -> list[int]:
        """The numbers of all objects, each once: the root, then those nearest to it."""
        found, waiting = {0: None}, deque([0])
        while waiting:
            for number in self._nodes[waiting.popleft()].children.values():
                if number not in found:
                    found[number] = None
                    waiting.append(number)
        return list(found)

    def match(self, obj: Any) -> dict[int, Any]:
        """The objects that a restore would give the saved ones' values, by number.

        Args:
            obj: What would be restored.
        """
        found, waiting = {0: obj}, deque([0])
        while waiting:
            number = waiting.popleft()
            parts = edges_of(found[number])
            for name, child in self._nodes[number].children.items():
                if name in parts and child not in found:
                    found[child] = parts[name]
                    waiting.append(child)
        return found

    def diff(self, obj: Any) -> tuple[dict[int, Any], list[int], list[Any]]:
        """What a restore would match, and what only one side has.

        Args:
            obj: What would be restored.

        Returns:
            ``match(obj)``, the numbers of saved objects that are not in it, and the objects that
            are not.
        """
        matched = self.match(obj)
        known = {id(item) for item in matched.values()}
        only_saved = [number for number in self.descendants() if number not in matched]
        here = TrackableView(obj).descendants()
        return matched, only_saved, [item for item in here if id(item) not in known]
