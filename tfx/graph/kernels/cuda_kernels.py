"""The kernels of ONNX Runtime's CUDA provider, as its documentation lists them.

ONNX Runtime lists the kernels of the providers that the machine can load, so without a GPU nobody
tells. The facts are those of ``docs/OperatorKernels.md`` in ONNX Runtime's repository, as of March
2026 and its pull requests 27728 and 27774, for opset 21 and later; a newer release may have more
kernels.

A kernel serves the version of an operator that it names, or those of a range. One that is open to
later versions (``13+``) serves its own version alone: of changes behind it nothing is known.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from tfx.core.dtypes import from_onnx
from tfx.graph import schema
from tfx.graph.ir import Node, Value

_SETS = {
    "half": "float16,float32,bfloat16",
    "real": "float16,float32,float64",
    "floats": "real,bfloat16",
    "wide": "real,int32,int64,uint32,uint64",
    "most": "floats,int32,int64,uint32,uint64",
    "numbers": "floats,int8,int16,int32,int64,uint8,uint16,uint32,uint64",
    "all": "numbers,bool",
    "small": "float8_e4m3fn,float8_e5m2",
    "index": "int32,int64",
}
# Operators, versions, types of their type parameters; a set of types stands for what is in it.
# ``host``: the inputs that are read on the host, by number; ``made=host``: so is the result.
_TABLE = """
Abs 13+ T=numbers | Add Sub Mul Div 14+ T=numbers | Neg 13+ T=floats,int8,int16,int32,int64
Sign 13+ T=numbers | And Or Xor 7+ T=bool | Not 1+ T=bool | Mod 13+ T=most | Max Min 13+ T=most
Pow 15+ T=floats,index T1=floats,index | Sum 13+ T=floats | Exp Erf Sqrt Sigmoid Tanh 13+ T=floats
Relu 14+ T=floats | Gelu 20+ T=floats | Log Ceil Floor Reciprocal 13+ T=real | Round 11+ T=real
Sin Cos 7+ T=real | Elu Selu 6+ T=real | LeakyRelu PRelu 16+ T=real | Softplus Softsign 1+ T=real
ThresholdedRelu 10+ T=real | Shrink 9+ T=real,int8,int16,int32,int64,uint8,uint16,uint32,uint64
HardSigmoid 6-21 T=real | HardSigmoid 22+ T=floats | HardSwish 14-21 T=real
HardSwish 22+ T=floats | Clip 13+ T=real,int64,int8,uint64,uint8 | Equal 13+ T=bool,wide
Greater Less 13+ T=wide | GreaterOrEqual LessOrEqual 16+ T=wide | IsInf IsNaN 20+ T1=floats,small
Where 16+ T=floats,index,uint8 | ArgMax ArgMin 13+ T=real | CumSum 14+ T=wide host=1
TopK 11+ T=real,index host=1 | NonZero 13+ T=bool,float16,float32,index,uint8
ReduceL1 ReduceL2 ReduceMean ReduceProd 18+ T=real,int32 host=1
ReduceLogSum ReduceLogSumExp ReduceSumSquare 18+ T=real host=1 | ReduceMax 18+ T=real,index host=1
ReduceMin 18+ T=real,index,int8,uint8 host=1 | ReduceSum 13+ T=floats,index host=1
MatMul Gemm 13+ T=floats | MatMulInteger 10+ T1=int8 T2=int8 | Einsum 12+ T=real
Conv 11-21 T=real | Conv 22+ T=floats | ConvTranspose 11+ T=real | AveragePool 19-21 T=real
AveragePool 22+ T=floats | MaxPool 12+ T=real,int8,uint8
GlobalAveragePool GlobalMaxPool 1+ T=real | LRN 13+ T=real | InstanceNormalization 6+ T=real
BatchNormalization 15+ T=real T1=real T2=real | LayerNormalization 17+ T=floats U=float32
RMSNormalization 23+ T=floats V=floats | RotaryEmbedding 23+ T=half M=int64
Attention 23+ T1=half T2=half U=half,bool | Attention 24+ T1=half T2=half U=half,bool
Softmax 13+ T=floats | LogSoftmax 13+ T=real | Dropout 13+ T=floats T1=floats T2=bool
GRU LSTM RNN 14+ T=real T1=int32 | DepthToSpace SpaceToDepth 13+ T=real
Resize 19+ T1=real,int32,uint8 host=1,2,3 | GridSample 20-21 T1=float32 T2=float32
GridSample 22+ T1=float32 T2=float32 | RoiAlign 10+ T1=float32,float64 T2=int64
Cast 21-22 T1=all,small T2=all,small | Cast 23+ T1=all,small T2=all,small | Compress 11+ T=all
Concat 13+ T=all | Expand 13+ T=all host=1 | Gather 13+ T=all Tind=index
GatherElements 13+ T=all Tind=index | GatherND 13+ T=floats,bool,int64
ScatterElements 18+ T=all Tind=index | ScatterND 18+ T=all | TensorScatter 24+ T=all
Slice 13+ T=all Tind=index host=1,2,3,4 | Split 18+ T=all host=1 | Trilu 14+ T=all host=1
Tile 13+ T=floats,index host=1 | Pad 18-25 T=real,bool host=1,3 | ReverseSequence 10+ T=all
OneHot 11+ T1=index T2=index T3=float16,float32,int64
Range 11+ T=float32,float64,int16,index host=0,1,2
EyeLike 9+ T1=float32,float64,index,uint64 T2=float32,float64,index,uint64 | Flatten 13-25 T=all
Identity 19-25 V=any | If 19-25 V=any host=0 | Loop 19-25 V=any host=0,1 | Scan 19-25 V=any
ConstantOfShape 9-25 T2=all host=0 | Size 13-25 T=all,string made=host
Reshape 21-22 T=all,small host=1 | Shape 21-22 T=all,small made=host
Reshape 23+ T=all,small host=1 | Shape 23+ T=all,small made=host
Squeeze Unsqueeze 21-22 T=all host=1 | Transpose 21-22 T=all | Squeeze Unsqueeze 23+ T=all host=1
Transpose 23+ T=all | RandomNormal RandomUniform 1+ T=real
RandomNormalLike RandomUniformLike 1+ T1=any T2=real
QuantizeLinear 21+ T1=float16,float32 T2=int8,uint8,int4,uint4,small
DequantizeLinear 21+ T1=int8,uint8,int4,uint4,small T2=float16,float32
SequenceAt SequenceErase 11+ T=any host=1 | SequenceConstruct SequenceEmpty 11+ T=any
SequenceInsert 11+ T=any host=2 | SequenceLength 11+ T=any made=host
ConcatFromSequence 11+ S=any
"""


class _Kernel(NamedTuple):
    """The versions of an operator that a kernel serves, the types it takes, what is on the host."""

    first: int
    last: int
    types: dict[str, frozenset[str]]
    host_inputs: tuple[int, ...]
    makes_on_host: bool


def has_cuda_kernel(node: Node, opset: int) -> bool:
    """True if the CUDA provider has a kernel for an operator with the types of a node.

    Args:
        node: The node.
        opset: That of its model.
    """
    kernels = _kernels().get(node.op)
    if kernels is None or (node.op == "ConvTranspose" and not pads_evenly(node)):
        return False
    version, inputs, outputs = schema.parameters(node.op, opset)
    return any(
        k.first <= version <= k.last
        and _takes(k, node.inputs, inputs)
        and _takes(k, node.outputs, outputs)
        for k in kernels
    )


def pads_evenly(node: Node) -> bool:
    """True if as much is cut off at the beginning of each axis as at its end.

    cuDNN's ``ConvTranspose`` can nothing else, and ONNX Runtime leaves other ones to the CPU.
    """
    if node.attrs.get("output_shape"):  # what is cut off follows from it
        return False
    if node.attrs.get("auto_pad", "NOTSET") != "NOTSET":
        return bool(node.attrs["auto_pad"] == "VALID")
    pads = tuple(node.attrs.get("pads") or ())
    return pads[: len(pads) // 2] == pads[len(pads) // 2 :]


def host_inputs(node: Node) -> tuple[int, ...]:
    """The numbers of the inputs that the CUDA kernel of a node reads on the host."""
    kernels = _kernels().get(node.op)
    return () if kernels is None else kernels[0].host_inputs


def makes_on_host(node: Node) -> bool:
    """True if the CUDA kernel of a node writes its result on the host."""
    kernels = _kernels().get(node.op)
    return kernels is not None and kernels[0].makes_on_host


def _takes(kernel: _Kernel, values: Sequence[Value | None], parameters: Sequence[str]) -> bool:
    """True if a kernel takes values; the last of the parameters may repeat."""
    for number, value in enumerate(values):
        if value is None:
            continue
        allowed = kernel.types.get(parameters[min(number, len(parameters) - 1)])
        if allowed and "any" not in allowed and from_onnx(value.dtype).name not in allowed:
            return False
    return True


@functools.cache
def _kernels() -> dict[str, list[_Kernel]]:
    found: dict[str, list[_Kernel]] = {}
    for entry in _TABLE.replace("\n", "|").split("|"):
        words = entry.split()
        if not words:
            continue
        at = next(i for i, word in enumerate(words) if word[0].isdigit())
        first, closed, last = words[at].rstrip("+").partition("-")
        types = dict(word.split("=") for word in words[at + 1 :])
        host = types.pop("host", "")
        made = types.pop("made", "")
        kernel = _Kernel(
            int(first),
            int(last) if closed else int(first),
            {name: _expanded(texts) for name, texts in types.items()},
            tuple(map(int, host.split(","))) if host else (),
            made == "host",
        )
        for op in words[:at]:
            found.setdefault(op, []).append(kernel)
    return found


@functools.cache
def _expanded(texts: str) -> frozenset[str]:
    names = [_expanded(_SETS[t]) if t in _SETS else frozenset([t]) for t in texts.split(",")]
    return frozenset().union(*names)
