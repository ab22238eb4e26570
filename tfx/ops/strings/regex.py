r"""Regular expressions as RE2 has them, carried out by Python's.

Owns the differences: characters are those of UTF-8, classes such as ``\w`` and ``[[:alpha:]]`` are
of ASCII, ``$`` is the very end, and no empty match comes right behind a match.
"""

from __future__ import annotations

import re

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_SPACES = r"\t\n\f\r "
# What is of one piece outside of brackets and in them: an escape, a class by its name, a character,
# or the beginning of brackets (what stands first is no end: `[]a]`).
_OUTSIDE = re.compile(r"\\.|\[\^?\]?|.", re.DOTALL)
_INSIDE = re.compile(r"\\.|\[:\w+:\]|.", re.DOTALL)
_LOOKING = ("(?=", "(?!", "(?<=", "(?<!")


def expression(pattern: bytes) -> re.Pattern[str]:
    """The compiled form of an expression.

    Args:
        pattern: As RE2 takes it.

    Raises:
        re.error: it is none, or one that RE2 or Python does not have.
    """
    text = pattern.decode("utf-8", "surrogateescape")
    lines = re.search(r"\(\?[a-z]*m", text) is not None
    ends = {"$": "$" if lines else r"\Z", r"\z": r"\Z", r"\s": f"[{_SPACES}]"}
    made: list[str] = []
    place, inside = 0, False
    while found := (_INSIDE if inside else _OUTSIDE).match(text, place):
        piece = found.group()
        if inside:
            made.append(_in_brackets(piece))
            inside = piece != "]"
        elif piece[0] == "[":
            inside = True
            made.append(piece.replace("]", r"\]"))
        elif text.startswith(_LOOKING, place):
            raise re.error("RE2 does not look around", text, place)
        else:
            made.append(ends.get(piece, piece))
        place = found.end()
    return re.compile("".join(made), re.ASCII)


def _in_brackets(piece: str) -> str:
    """A piece of what stands between brackets."""
    if piece.startswith("[:") and len(piece) > 2:
        if piece[2:-2] not in _CLASSES:
            raise re.error(f"invalid character class {piece}")
        return _CLASSES[piece[2:-2]]
    if piece == r"\s":
        return _SPACES
    # What Python may take for an operation on sets.
    return "\\" + piece if piece in tuple("[&~|") else piece


def replace(
    known: re.Pattern[str], parts: list[str | int], value: bytes, everything: bool
) -> bytes:
    """A text in which matches are replaced.

    Args:
        known: The expression.
        parts: What replaces a match: texts, and the numbers of groups.
        value: The text.
        everything: Replace all matches, or the first.
    """
    text = value.decode("utf-8", "surrogateescape")
    made: list[str] = []
    place, ended = 0, -1
    while place <= len(text) and (found := known.search(text, place)):
        if found.end() == ended == found.start():
            made.append(text[place : place + 1])
            place += 1
            continue
        made.append(text[place : found.start()])
        made += [p if isinstance(p, str) else found.group(p) or "" for p in parts]
        place = ended = found.end()
        if not everything:
            break
    return "".join([*made, text[place:]]).encode("utf-8", "surrogateescape")
