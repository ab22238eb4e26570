"""``tfx.compat.v1.gfile``: files by TensorFlow 1's names."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.core.gfile": """
            Copy=copy DeleteRecursively=rmtree Exists=exists FastGFile=GFile GFile Glob=glob
            IsDirectory=isdir ListDirectory=listdir MakeDirs=makedirs MkDir=mkdir Open=GFile
            Remove=remove Rename=rename Stat=stat Walk=walk
        """,
    },
)
