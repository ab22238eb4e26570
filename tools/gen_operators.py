"""Write ``docs/operators.md`` from the tables of rules. ``--check`` only compares."""

from __future__ import annotations

import sys
from pathlib import Path

from tfx import raw
from tfx.autodiff import forward_accumulator
from tfx.framework import rules
from tfx.function.gradients import if_gradient, loop_gradient, recurrent_rules
from tfx.graph import schema
from tfx.graph.quantized_operators import carries
from tfx.ops.common import batching
from tfx.vectorize import batcher

# Importing them fills the tables.
TABLES = (batcher, forward_accumulator, if_gradient, loop_gradient, recurrent_rules)
# Their bodies are batched, operator by operator.
_CONTROL = ("If", "Loop")
# What becomes something else when a model is read.
READ_AS = {"Scan": "read as `Loop`", "SequenceMap": "read as `Loop`"}
NO_KERNEL = ("ImageDecoder",)
TARGET = Path(__file__).parents[1] / "docs" / "operators.md"

HEADER = """\
# Operators

<!-- Written by tools/gen_operators.py from the tables of rules; do not edit. -->

What can be done with each of the {count} operators of ONNX (up to opset {opset}), whether an
operation of tfx emits it, `tfx.raw` calls it or an imported model has it.

- **Eager**: callable as `tfx.raw.<name>`. Operators on sequences, optionals and graphs are not; the
  operations of `tfx` and imported models use them.
- **Gradient**: *rule* means that reverse mode differentiates it, to any order: rules are made of
  operators that have rules. Otherwise the reason for which its gradient is `None`.
- **Forward**: how forward mode does: by a *rule* of its own, as a *linear* operator applied to the
  tangents, as an *elementwise* one whose gradient rule is the forward rule too, or by *double
  reverse*: the gradient rule is linear in the gradient, so its own gradient is the forward rule.
- **Batching**: a *rule* computes all elements of `vectorized_map` and of Jacobians at once, or a
  *formula* of operators that have rules does. A *loop* runs over the elements, with one warning
  that names the operator.

{ruled} operators have a gradient; {batched} of them are batched without a loop. Every rule is
checked on onnx's own node tests against central differences of the reference implementation in
float64, to second order, by `tests/ops/test_derivatives.py`; what is left out there is listed with
the reason.

| Operator | Eager | Gradient | Forward | Batching |
|---|---|---|---|---|
"""

CONVENTIONS_HEADER = """
## Kinks and ties

Where an operator has no derivative, the rules take the value that TensorFlow takes. Every line is
a test in `tests/unit/ops/test_kinks.py`.

| Operator | Where | Gradient |
|---|---|---|
"""

# Operator, place, gradient there. Other conventions than TensorFlow's say so.
CONVENTIONS: tuple[tuple[str, str, str], ...] = (
    ("Abs, Sign", "0", "0"),
    ("Relu, ThresholdedRelu, Shrink", "the threshold", "that of the flat side: 0"),
    ("LeakyRelu, PRelu", "0", "that of the negative side: the slope"),
    ("Elu, Selu, Celu", "0", "that of the positive side"),
    ("HardSigmoid", "both ends", "0"),
    ("HardSwish", "-3 and 3", "0 and 1"),
    ("Clip", "an element that equals a limit", "goes to the element"),
    ("Clip", "an upper limit without a lower one, as in `relu6`", "goes to the limit"),
    ("Clip", "a lower limit above the upper one", "goes to the upper limit, as the value does"),
    ("Max, Min", "several inputs are the extreme", "goes to the first of them"),
    ("ReduceMax, ReduceMin", "several elements are the extreme", "shared equally"),
    ("MaxPool, GlobalMaxPool", "several elements are the largest", "goes to the first of them"),
    ("TopK (and sorting)", "equal elements", "goes to those taken, in the order of their indices"),
    (
        "ScatterElements, ScatterND with max or min",
        "the old element or several updates are the extreme",
        "shared equally by all that are",
    ),
    ("Floor, Ceil, Round, ArgMax, Hardmax", "everywhere", "None: piecewise constant"),
    ("Sqrt", "0", "infinite"),
    (
        "ReduceL2, LpNormalization, LpPool, GlobalLpPool, MeanVarianceNormalization",
        "a norm or deviation of 0",
        "0, where TensorFlow's formulas give NaN",
    ),
    ("Pow", "`0 ** 0`", "0 for the base, where TensorFlow gives NaN, and 0 for the exponent"),
    ("ReduceProd, CumProd", "zeros", "the true one: the product of the others"),
    ("Attention", "rows in which every key is masked", "0"),
    (
        "Dropout",
        "an element of 0 where the mask is not a result of the operator",
        "that of the average over masks: the gradient itself",
    ),
)


OTHERS_HEADER = """
## Operators of other domains

An imported model keeps the operators of `com.microsoft` and `ai.onnx.ml` that the installed ONNX
Runtime has kernels for ([import.md](import.md)). These of `com.microsoft` have a gradient, that of
the standard operators which compute the same, or a rule; those marked *straight through* compute
with quantized numbers, see above. All others have none, those of `ai.onnx.ml` among them.

| Operator | Gradient | Batching |
|---|---|---|
"""

ROUNDED_HEADER = """
## Quantization: straight-through estimates

Rounding has a derivative of 0 almost everywhere. Gradients take it for the identity, as training
that is aware of quantization does: they pass where a number lay within the range that the quantized
dtype, the scale and the zero point span, ends included, and are 0 for what was cut off. A scale has
the gradient of `x / scale` without the rounding and that of the product behind it, which together
are those of a learned step size. The quantized tensor between carries a floating-point gradient of
its shape through these operators: {carried}.
Integers that no rounding made carry
nothing. Forward mode takes the derivative to be 0. `import_onnx` and `export_gradient` do without
the estimates by `straight_through=False`.
"""


def _others() -> str:
    rows = []
    for name in sorted(rules.known()):
        if schema.is_other(name) and rules.status_of(name) == "rule":
            kind = "rule" if rules.formula_of(name) is None else "formula"
            exact = rules.exact_formula_of(name) is not None
            kind = kind if exact or kind == "rule" else "straight through"
            rows.append(f"| {schema.split_key(name)[1]} | {kind} | {_batching(name)} |")
    return "\n".join(rows) + "\n"


def _carried() -> str:
    return ", ".join(n for n in schema.operator_names() if carries(n))


def _row(name: str) -> str:
    if name in READ_AS:
        return f"| {name} | no: {raw.EXCLUDED[name]} | {' | '.join([READ_AS[name]] * 3)} |"
    status = rules.status_of(name)
    gradient = "rule" if status == "rule" else f"no: {status}"
    forward_status = rules.forward_status_of(name) if status == "rule" else "-"
    eager = "yes" if name not in raw.EXCLUDED else f"no: {raw.EXCLUDED[name]}"
    if name in NO_KERNEL:
        eager = "no: ONNX Runtime has no kernel for it"
    return f"| {name} | {eager} | {gradient} | {forward_status} | {_batching(name)} |"


def _batching(name: str) -> str:
    if batching.rule_of(name) is not None or name in _CONTROL:
        return "rule"
    return "loop" if rules.exact_formula_of(name) is None else "formula"


def document() -> str:
    """The text of the document."""
    names = schema.operator_names()
    ruled = [n for n in names if rules.status_of(n) == "rule" and n not in READ_AS]
    head = HEADER.format(
        count=len(names),
        opset=schema.MAX_OPSET,
        ruled=len(ruled),
        batched=sum(_batching(n) != "loop" for n in ruled),
    )
    table = "\n".join(_row(n) for n in names)
    conventions = "\n".join(f"| {a} | {b} | {c} |" for a, b, c in CONVENTIONS)
    rounded = ROUNDED_HEADER.format(carried=_carried())
    return f"{head}{table}\n{CONVENTIONS_HEADER}{conventions}\n{rounded}{OTHERS_HEADER}{_others()}"


def main() -> int:
    """Write or check; returns the exit status."""
    text = document()
    if "--check" in sys.argv:
        if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
            print(f"{TARGET} is stale: run python tools/gen_operators.py")
            return 1
        return 0
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
