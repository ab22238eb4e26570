"""What the derivative checks of onnx's node tests leave out, each with the reason.

Tests that the operator itself cannot pass are in ``overrides``; they are left out too.
"""

from __future__ import annotations

# Floating inputs that there is no derivative by: sizes, rates and fixed weights.
CONSTANT_INPUTS: dict[str, tuple[int, ...]] = {
    "Dropout": (1,),
    "NegativeLogLikelihoodLoss": (2,),
    "OneHot": (0, 1),
    "Resize": (1, 2),
    "SoftmaxCrossEntropyLoss": (2,),
}
# Inputs that are float32 whatever the others are.
OF_FIXED_DTYPE: dict[str, tuple[int, ...]] = {"OneHot": (0,), "Resize": (1, 2)}

# Added to the inputs of tests at the end of a domain.
SHIFT = {"Acosh": 0.1}

_WHY = {
    "the reference computes the scale in float32: differences are of its rounding": """
        test_dynamicquantizelinear_max_adjusted test_dynamicquantizelinear_min_adjusted
    """,
    "rounding to fewer digits is piecewise constant": """
        test_cast_FLOAT_to_FLOAT16
        test_cast_FLOAT16_to_FLOAT
        test_cast_DOUBLE_to_FLOAT
        test_cast_DOUBLE_to_FLOAT16
    """,
    "of 100,000 random numbers some are within any step of a tie": """
        test_maxpool_3d_default
    """,
}
LEFT_OUT = {name: why for why, names in _WHY.items() for name in names.split()}
