"""Operators of imported models and ``raw`` that have no gradient, each with the reason."""

from __future__ import annotations

from tfx.framework.rules import no_gradient

no_gradient(
    "ImageDecoder",
    "NonMaxSuppression",
    "RegexFullMatch",
    "StringNormalizer",
    "StringSplit",
    "TfIdfVectorizer",
    why="strings, encoded bytes or choices: the result does not follow from numbers smoothly",
)
no_gradient(
    "BlackmanWindow",
    "Constant",
    "HammingWindow",
    "HannWindow",
    "MelWeightMatrix",
    why="it depends on no floating input",
)
no_gradient("BitCast", why="the same bits as another type are no function of the number")
