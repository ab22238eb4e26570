"""Pickling what was loaded from a bundle: by the bundle's path, with what changed since.

Values of variables that are as they were saved are not pickled: the folder has them, and is opened
again where the pickle is read. It must then hold the same bundle; another one is refused.
"""

from __future__ import annotations

import copyreg
from typing import Any

from tfx.framework.variable_state import stored
from tfx.saved_model.functions import RestoredFunction
from tfx.saved_model.load import open_files
from tfx.saved_model.signature import SignatureFunction
from tfx.saved_model.traces import LoadedFiles


def _files(files: LoadedFiles) -> tuple[Any, ...]:
    files.refuse_closed()
    changed = {
        i: v
        for i, (v, saved) in enumerate(zip(files.variables, files.saved, strict=True))
        if stored(v) is not saved
    }
    return open_files, (str(files.path), files.fingerprint), changed or None


def _function(function: RestoredFunction) -> tuple[Any, ...]:
    files, entry = function._files, function._entry
    number = next(i for i, e in enumerate(files.manifest.functions) if e == entry)
    signatures = function.signatures
    state = {"signatures": signatures} if signatures else None
    return _function_of, (files, number), state


def _function_of(files: LoadedFiles, number: int) -> RestoredFunction:
    return RestoredFunction(files.manifest.functions[number], files)


def _signature(function: SignatureFunction) -> tuple[Any, ...]:
    return _signature_of, (function._files, function.name)


def _signature_of(files: LoadedFiles, name: str) -> SignatureFunction:
    entry = next(s for s in files.manifest.signatures if s.name == name)
    number = entry.concrete_function
    owner = next((f for f in files.manifest.functions if number in f.concrete_functions), None)
    parameters = None if owner is None else RestoredFunction(owner, files).function_spec
    return SignatureFunction(entry, files, parameters)


copyreg.pickle(LoadedFiles, _files)
copyreg.pickle(RestoredFunction, _function)
copyreg.pickle(SignatureFunction, _signature)
