"""Facts about operators that the standard does not state: one row an operator.

Passes, gradients, batching and readers of models ask here, by ``traits(node.op)``, instead of
keeping lists of names. A test compares the rows with the operators that the standard has, so an
operator without a row is named there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class OpTraits:
    """Properties of an operator that its schema does not state.

    Attributes:
        elementwise: Element ``i`` of the result comes from element ``i`` of the one operand, or of
            operands that broadcast.
        moves: Elements of the result are elements of the first input, or of several inputs.
        form: The result is the first input in another form or type.
        cost: Against reading the result once: ``free`` takes no longer, ``cheap`` less than
            keeping it for later.
        cheap_on_shapes: Cheap on the short integer vectors that describe shapes.
        speculative: Cannot fail, so it may be computed although its result may be unused.
        shape_only: Depends on the form of its inputs, not on their contents.
        size_from: Numbers of the inputs whose contents decide the size of the result.
        size_unknown: Only a run tells the size of the result.
        reduction: Reduces over axes that an input names.
        stepwise: Over some axes, and the result over others, it is the same as over all at once.
        commutative: To the last bit.
        random: Draws numbers from a state of its own. Random operations of this library do not.
        foldable: May be replaced by its result where the inputs are constant.
        bodies: Holds graphs in its attributes.
        window: Slides a window over spatial axes.
        quantized: Rounds to quantized numbers, or computes with such.
        of_integers: On integers it does what it does on other numbers, so that the gradient of
            quantized ones passes it.
        refuse: What onnx has to say about its inputs is asked before ONNX Runtime, which ends the
            process or does not look: always, or where an input is empty.
        singular: Its slope may be infinite though the result is finite: at 0, at 1, or elsewhere.
        masks: Takes one of several values, or keeps values within limits: what is not taken gets
            no gradient.
        after_products: ONNX Runtime computes it within the matrix product or convolution before it.
        ordered: Tells larger numbers from smaller ones, rounds them, or asks what only real ones
            are: it means nothing for complex numbers.
        local_gradient: Hands gradients on element by element, or to whole groups of elements.
        half: Computed in half precision where a program asks for that: it gains from it, or it
            follows what stands before and behind it.
    """

    elementwise: Literal["", "unary", "broadcast"] = ""
    moves: Literal["", "first", "several"] = ""
    form: bool = False
    cost: Literal["free", "cheap", "real"] = "real"
    cheap_on_shapes: bool = False
    speculative: bool = False
    shape_only: bool = False
    size_from: tuple[int, ...] = ()
    size_unknown: bool = False
    reduction: bool = False
    stepwise: bool = False
    commutative: bool = False
    random: bool = False
    foldable: bool = True
    bodies: bool = False
    window: Literal["", "convolution", "pool"] = ""
    quantized: Literal["", "rounds", "computes"] = ""
    of_integers: bool = False
    refuse: Literal["", "always", "empty"] = ""
    singular: Literal["", "zero", "one", "other"] = ""
    masks: Literal["", "choose", "limit"] = ""
    after_products: bool = False
    ordered: bool = False
    local_gradient: bool = False
    half: Literal["", "gains", "follows"] = ""


# Nothing of the above holds of these.
_PLAIN = OpTraits()
_PLAIN_OPERATORS = """
    AffineGrid Attention BatchNormalization BlackmanWindow CenterCropPad Col2Im
    ConcatFromSequence Constant CumProd CumSum DeformConv Det EyeLike GRU Gemm
    GlobalAveragePool GlobalLpPool GlobalMaxPool GridSample GroupNormalization HammingWindow
    HannWindow Hardmax ImageDecoder InstanceNormalization LRN LSTM LayerNormalization LogSoftmax
    LpNormalization MatMul MaxRoiPool MaxUnpool MeanVarianceNormalization MelWeightMatrix
    NegativeLogLikelihoodLoss Optional OptionalGetElement PRelu RMSNormalization RNN
    RotaryEmbedding ScatterElements ScatterND SequenceAt SequenceConstruct SequenceEmpty
    SoftmaxCrossEntropyLoss StringNormalizer StringSplit TensorScatter
    TfIdfVectorizer Trilu
"""

_ROWS: dict[str, OpTraits] = {
    **dict.fromkeys(_PLAIN_OPERATORS.split(), _PLAIN),
    "Abs": OpTraits(
        elementwise="unary", cheap_on_shapes=True, speculative=True, local_gradient=True
    ),
    "Acos": OpTraits(elementwise="unary", singular="one"),
    "Acosh": OpTraits(elementwise="unary", singular="one"),
    "Add": OpTraits(
        of_integers=True,
        elementwise="broadcast",
        cost="cheap",
        cheap_on_shapes=True,
        speculative=True,
        commutative=True,
        local_gradient=True,
    ),
    "And": OpTraits(elementwise="broadcast", cost="free", speculative=True, commutative=True),
    "ArgMax": OpTraits(ordered=True),
    "ArgMin": OpTraits(ordered=True),
    "Asin": OpTraits(elementwise="unary", singular="one"),
    "Asinh": OpTraits(elementwise="unary"),
    "Atan": OpTraits(elementwise="unary", local_gradient=True),
    "Atanh": OpTraits(elementwise="unary", singular="other"),
    "AveragePool": OpTraits(window="pool"),
    "Bernoulli": OpTraits(random=True),
    "BitCast": OpTraits(elementwise="unary"),
    "BitShift": OpTraits(elementwise="broadcast"),
    "BitwiseAnd": OpTraits(elementwise="broadcast"),
    "BitwiseNot": OpTraits(elementwise="unary"),
    "BitwiseOr": OpTraits(elementwise="broadcast"),
    "BitwiseXor": OpTraits(elementwise="broadcast"),
    "Call": OpTraits(bodies=True),
    "Cast": OpTraits(
        of_integers=True,
        elementwise="unary",
        cost="free",
        form=True,
        speculative=True,
        local_gradient=True,
    ),
    "CastLike": OpTraits(cost="free", form=True),
    "Ceil": OpTraits(ordered=True, elementwise="unary"),
    "Celu": OpTraits(elementwise="unary"),
    "Clip": OpTraits(ordered=True, of_integers=True, masks="limit"),
    "Compress": OpTraits(moves="first", size_from=(1,), size_unknown=True),
    "Concat": OpTraits(
        of_integers=True,
        moves="several",
        cost="cheap",
        cheap_on_shapes=True,
        refuse="empty",
        local_gradient=True,
    ),
    "ConstantOfShape": OpTraits(cost="cheap", cheap_on_shapes=True, size_from=(0,)),
    "Conv": OpTraits(window="convolution"),
    "ConvInteger": OpTraits(window="convolution", quantized="computes"),
    "ConvTranspose": OpTraits(window="convolution"),
    "Cos": OpTraits(elementwise="unary", local_gradient=True),
    "Cosh": OpTraits(elementwise="unary", singular="other"),
    "DFT": OpTraits(refuse="always"),
    "DepthToSpace": OpTraits(of_integers=True),
    "DequantizeLinear": OpTraits(foldable=False),
    "Div": OpTraits(elementwise="broadcast", cost="cheap", cheap_on_shapes=True, singular="other"),
    "Dropout": OpTraits(random=True),
    "DynamicQuantizeLinear": OpTraits(foldable=False, quantized="rounds"),
    "Einsum": OpTraits(refuse="always"),
    "Elu": OpTraits(elementwise="unary"),
    "Equal": OpTraits(elementwise="broadcast", cost="free", speculative=True, commutative=True),
    "Erf": OpTraits(elementwise="unary", local_gradient=True),
    "Exp": OpTraits(elementwise="unary", singular="other"),
    "Expand": OpTraits(
        of_integers=True, moves="first", cost="free", form=True, size_from=(1,), local_gradient=True
    ),
    "Flatten": OpTraits(of_integers=True, moves="first", cost="free", form=True),
    "Floor": OpTraits(ordered=True, elementwise="unary", speculative=True),
    "Gather": OpTraits(
        of_integers=True, moves="first", cost="cheap", cheap_on_shapes=True, local_gradient=True
    ),
    "GatherElements": OpTraits(of_integers=True, moves="first"),
    "GatherND": OpTraits(of_integers=True, moves="first"),
    "Gelu": OpTraits(elementwise="unary"),
    "Greater": OpTraits(ordered=True, elementwise="broadcast", cost="free", speculative=True),
    "GreaterOrEqual": OpTraits(
        ordered=True, elementwise="broadcast", cost="free", speculative=True
    ),
    "HardSigmoid": OpTraits(elementwise="unary"),
    "HardSwish": OpTraits(elementwise="unary"),
    "Host": OpTraits(bodies=True),
    "Identity": OpTraits(
        of_integers=True,
        elementwise="unary",
        moves="first",
        cost="free",
        form=True,
        speculative=True,
        foldable=False,
        local_gradient=True,
    ),
    "If": OpTraits(bodies=True),
    "IsInf": OpTraits(ordered=True, elementwise="unary", cost="free", speculative=True),
    "IsNaN": OpTraits(ordered=True, elementwise="unary", cost="free", speculative=True),
    "LeakyRelu": OpTraits(elementwise="unary", after_products=True),
    "Less": OpTraits(ordered=True, elementwise="broadcast", cost="free", speculative=True),
    "LessOrEqual": OpTraits(ordered=True, elementwise="broadcast", cost="free", speculative=True),
    "Log": OpTraits(elementwise="unary", singular="other"),
    "Loop": OpTraits(bodies=True),
    "LpPool": OpTraits(window="pool"),
    "MatMulInteger": OpTraits(quantized="computes"),
    "Max": OpTraits(
        ordered=True,
        of_integers=True,
        elementwise="broadcast",
        cost="cheap",
        cheap_on_shapes=True,
        speculative=True,
        masks="limit",
    ),
    "MaxPool": OpTraits(of_integers=True, window="pool"),
    "Mean": OpTraits(elementwise="broadcast"),
    "Min": OpTraits(
        ordered=True,
        of_integers=True,
        elementwise="broadcast",
        cost="cheap",
        cheap_on_shapes=True,
        speculative=True,
        masks="limit",
    ),
    "Mish": OpTraits(elementwise="unary"),
    "Mod": OpTraits(ordered=True, elementwise="broadcast", cost="cheap", cheap_on_shapes=True),
    "Mul": OpTraits(
        elementwise="broadcast",
        cost="cheap",
        cheap_on_shapes=True,
        speculative=True,
        commutative=True,
        singular="other",
    ),
    "Multinomial": OpTraits(random=True),
    "Neg": OpTraits(
        elementwise="unary",
        cost="cheap",
        cheap_on_shapes=True,
        speculative=True,
        local_gradient=True,
    ),
    "NonMaxSuppression": OpTraits(size_from=(0, 1, 2, 3, 4), size_unknown=True),
    "NonZero": OpTraits(ordered=True, cheap_on_shapes=True, size_from=(0,), size_unknown=True),
    "Not": OpTraits(elementwise="unary", cost="free", speculative=True),
    "OneHot": OpTraits(size_from=(1,)),
    "OptionalHasElement": OpTraits(shape_only=True),
    "Or": OpTraits(elementwise="broadcast", cost="free", speculative=True, commutative=True),
    "Pad": OpTraits(of_integers=True, moves="several", size_from=(1,), local_gradient=True),
    "Pow": OpTraits(elementwise="broadcast", singular="zero"),
    "QLinearConv": OpTraits(window="convolution", quantized="computes"),
    "QLinearMatMul": OpTraits(quantized="computes"),
    "QuantizeLinear": OpTraits(foldable=False, quantized="rounds"),
    "RandomNormal": OpTraits(random=True),
    "RandomNormalLike": OpTraits(random=True),
    "RandomUniform": OpTraits(random=True),
    "RandomUniformLike": OpTraits(random=True),
    "Range": OpTraits(cost="cheap", cheap_on_shapes=True, size_from=(0, 1, 2)),
    "Reciprocal": OpTraits(elementwise="unary", singular="other"),
    "ReduceL1": OpTraits(reduction=True, stepwise=True),
    "ReduceL2": OpTraits(reduction=True, stepwise=True),
    "ReduceLogSum": OpTraits(reduction=True),
    "ReduceLogSumExp": OpTraits(ordered=True, reduction=True, stepwise=True),
    "ReduceMax": OpTraits(ordered=True, cheap_on_shapes=True, reduction=True, stepwise=True),
    "ReduceMean": OpTraits(reduction=True, stepwise=True, local_gradient=True),
    "ReduceMin": OpTraits(ordered=True, reduction=True, stepwise=True),
    "ReduceProd": OpTraits(cheap_on_shapes=True, reduction=True, stepwise=True),
    "ReduceSum": OpTraits(cheap_on_shapes=True, reduction=True, stepwise=True, local_gradient=True),
    "ReduceSumSquare": OpTraits(reduction=True),
    "RegexFullMatch": OpTraits(elementwise="unary"),
    "Relu": OpTraits(ordered=True, of_integers=True, elementwise="unary", after_products=True),
    "Reshape": OpTraits(
        of_integers=True, moves="first", cost="free", form=True, size_from=(1,), local_gradient=True
    ),
    "Resize": OpTraits(of_integers=True, size_from=(2, 3)),
    "ReverseSequence": OpTraits(moves="first", refuse="always"),
    "RoiAlign": OpTraits(refuse="always"),
    "Round": OpTraits(ordered=True, elementwise="unary"),
    "STFT": OpTraits(refuse="always"),
    "Scan": OpTraits(bodies=True),
    "Selu": OpTraits(elementwise="unary"),
    "SequenceErase": OpTraits(size_from=(1,)),
    "SequenceInsert": OpTraits(size_from=(2,)),
    "SequenceLength": OpTraits(shape_only=True),
    "SequenceMap": OpTraits(bodies=True),
    "Shape": OpTraits(cost="free", shape_only=True),
    "Shrink": OpTraits(elementwise="unary"),
    "Sigmoid": OpTraits(elementwise="unary", local_gradient=True, after_products=True),
    "Sign": OpTraits(elementwise="unary", speculative=True),
    "Sin": OpTraits(elementwise="unary", local_gradient=True),
    "Sinh": OpTraits(elementwise="unary", singular="other"),
    "Size": OpTraits(cost="free", shape_only=True),
    "Slice": OpTraits(
        of_integers=True,
        moves="first",
        cost="cheap",
        cheap_on_shapes=True,
        size_from=(1, 2, 3, 4),
        local_gradient=True,
    ),
    "Softmax": OpTraits(ordered=True),
    "Softplus": OpTraits(elementwise="unary", local_gradient=True),
    "Softsign": OpTraits(elementwise="unary"),
    "SpaceToDepth": OpTraits(of_integers=True),
    "Split": OpTraits(of_integers=True, moves="first", size_from=(1,), local_gradient=True),
    "SplitToSequence": OpTraits(size_from=(1,)),
    "Sqrt": OpTraits(elementwise="unary", singular="zero"),
    "Squeeze": OpTraits(
        of_integers=True, moves="first", cost="free", form=True, local_gradient=True
    ),
    "StringConcat": OpTraits(elementwise="broadcast"),
    "Sub": OpTraits(
        of_integers=True,
        elementwise="broadcast",
        cost="cheap",
        cheap_on_shapes=True,
        speculative=True,
        local_gradient=True,
    ),
    "Sum": OpTraits(elementwise="broadcast", local_gradient=True),
    "Swish": OpTraits(elementwise="unary"),
    "Tan": OpTraits(elementwise="unary", singular="other"),
    "Tanh": OpTraits(elementwise="unary", local_gradient=True, after_products=True),
    "ThresholdedRelu": OpTraits(elementwise="unary"),
    "Tile": OpTraits(of_integers=True, moves="first", size_from=(1,)),
    "TopK": OpTraits(ordered=True, size_from=(1,)),
    "Transpose": OpTraits(of_integers=True, moves="first", cost="cheap", local_gradient=True),
    "Unique": OpTraits(ordered=True, size_from=(0,), size_unknown=True),
    "Unsqueeze": OpTraits(
        of_integers=True, moves="first", cost="free", form=True, size_from=(1,), local_gradient=True
    ),
    "Where": OpTraits(
        of_integers=True,
        elementwise="broadcast",
        moves="several",
        cost="cheap",
        cheap_on_shapes=True,
        masks="choose",
    ),
    "Xor": OpTraits(elementwise="broadcast", cost="free", speculative=True, commutative=True),
}

# A column of its own: most of these rows have nothing else in common.
_HALF: dict[Literal["gains", "follows"], str] = {
    "gains": "Conv ConvTranspose Gemm MatMul",
    "follows": """
        Abs Add AveragePool Celu Clip Concat DepthToSpace Div Elu Expand Flatten Gather GatherND
        Gelu HardSigmoid HardSwish Identity LeakyRelu Max MaxPool Min Mish Mul Neg PRelu Pad Relu
        Reshape Selu Sigmoid Sign Slice Softplus Softsign SpaceToDepth Split Squeeze Sub Swish Tanh
        Tile Transpose Unsqueeze Where
    """,
}
for _how, _operators in _HALF.items():
    _ROWS |= {op: replace(_ROWS.get(op, _PLAIN), half=_how) for op in _operators.split()}


def traits(op: str) -> OpTraits:
    """The facts about an operator.

    Args:
        op: ONNX operator type, or that of a node which is no operator (a call, a host call).
    """
    return _ROWS.get(op, _PLAIN)


def operators(holds: Callable[[OpTraits], object]) -> tuple[str, ...]:
    """Return the operators that have a trait, sorted.

    Args:
        holds: Tells from the facts about one.
    """
    return tuple(sorted(op for op, row in _ROWS.items() if holds(row)))
