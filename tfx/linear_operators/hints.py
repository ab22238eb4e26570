"""What is known of an operator that is made of others: True, False, or None for unknown."""

from __future__ import annotations

from typing import Any, TypeAlias

Hint: TypeAlias = bool | None
# By their names: arguments of a constructor.
Hints: TypeAlias = dict[str, Any]


def self_adjoint_if_commuting(a: Any, b: Any) -> Hint:
    """Whether the product of operators that commute is self-adjoint."""
    if a.is_self_adjoint and b.is_self_adjoint:
        return True
    return False if {a.is_self_adjoint, b.is_self_adjoint} == {True, False} else None


def positive_definite_if_commuting(a: Any, b: Any) -> Hint:
    """Whether the product of operators that commute is positive definite."""
    known = all(x.is_positive_definite and x.is_self_adjoint for x in (a, b))
    return True if known else None


def non_singular(a: Any, b: Any) -> Hint:
    """Whether a product is invertible."""
    if a.is_non_singular is False or b.is_non_singular is False:
        return False
    both: Hint = a.is_non_singular and b.is_non_singular
    return both


def square(a: Any, b: Any) -> Hint:
    """Whether a product is square."""
    if a.is_square and b.is_square:
        return True
    if a.is_square is False and b.is_square is False:
        same: Hint = a.range_dimension == b.domain_dimension
        return same
    return None if a.is_square is None or b.is_square is None else False


def commuting(a: Any, b: Any) -> Hints:
    """The hints of the product of two square operators that commute."""
    return {
        "is_non_singular": non_singular(a, b),
        "is_self_adjoint": self_adjoint_if_commuting(a, b),
        "is_positive_definite": positive_definite_if_commuting(a, b),
        "is_square": True,
    }


def of_any(a: Any, b: Any) -> Hints:
    """The hints of the product of two operators of which nothing else is known."""
    whole = square(a, b)
    known = False if whole is False else None
    return {
        "is_non_singular": non_singular(a, b) if whole else known,
        "is_self_adjoint": known,
        "is_positive_definite": known,
        "is_square": whole,
    }


def own(operator: Any) -> Hints:
    """The hints of an operator, for one of the same properties."""
    return {
        "is_non_singular": operator.is_non_singular,
        "is_self_adjoint": operator.is_self_adjoint,
        "is_positive_definite": operator.is_positive_definite,
        "is_square": operator.is_square,
    }


def agreed(operator: Any, given: Hints, what: str) -> Hints:
    """Hints that an operator shares with what is made of it, such as its adjoint.

    Args:
        operator: The operator.
        given: What the user says of the other one.
        what: What that is, for the message.

    Raises:
        ValueError: they contradict each other.
    """
    found: Hints = {}
    for name, said in given.items():
        has = getattr(operator, name)
        if has is not None and said is not None and bool(has) != bool(said):
            raise ValueError(
                f"An operator is {name[3:].replace('_', '-')} if and only if its {what} is; got "
                f"{name}={said} for the {what} of an operator that has {name}={has}."
            )
        found[name] = has if said is None else said
    return found


def of_all(operators: list[Any], given: Hints, names: tuple[str, ...], what: str) -> Hints:
    """Hints that hold for a whole if they hold for all its parts.

    Args:
        operators: The parts.
        given: What the user says of the whole.
        names: The hints.
        what: What the whole is, for the message.

    Raises:
        ValueError: the user says that one does not hold, and it does.
    """
    found = dict(given)
    for name in names:
        if all(getattr(part, name) for part in operators):
            if given[name] is False:
                shown = name[3:].replace("_", "-")
                raise ValueError(
                    f"The {what} of {shown} operators is always {shown}; got {name}=False."
                )
            found[name] = True
    return found
