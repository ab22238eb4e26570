"""Names of dtypes that operations are tried with."""

from __future__ import annotations

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NUMBERS = [*FLOATS, *INTEGERS]
