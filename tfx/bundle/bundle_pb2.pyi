from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import Any as _Any, ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DTYPE_UNDEFINED: _ClassVar[DType]
    DTYPE_FLOAT32: _ClassVar[DType]
    DTYPE_UINT8: _ClassVar[DType]
    DTYPE_INT8: _ClassVar[DType]
    DTYPE_UINT16: _ClassVar[DType]
    DTYPE_INT16: _ClassVar[DType]
    DTYPE_INT32: _ClassVar[DType]
    DTYPE_INT64: _ClassVar[DType]
    DTYPE_STRING: _ClassVar[DType]
    DTYPE_BOOL: _ClassVar[DType]
    DTYPE_FLOAT16: _ClassVar[DType]
    DTYPE_FLOAT64: _ClassVar[DType]
    DTYPE_UINT32: _ClassVar[DType]
    DTYPE_UINT64: _ClassVar[DType]
    DTYPE_COMPLEX64: _ClassVar[DType]
    DTYPE_COMPLEX128: _ClassVar[DType]
    DTYPE_BFLOAT16: _ClassVar[DType]
    DTYPE_FLOAT8_E4M3FN: _ClassVar[DType]
    DTYPE_FLOAT8_E5M2: _ClassVar[DType]
    DTYPE_UINT4: _ClassVar[DType]
    DTYPE_INT4: _ClassVar[DType]
DTYPE_UNDEFINED: DType
DTYPE_FLOAT32: DType
DTYPE_UINT8: DType
DTYPE_INT8: DType
DTYPE_UINT16: DType
DTYPE_INT16: DType
DTYPE_INT32: DType
DTYPE_INT64: DType
DTYPE_STRING: DType
DTYPE_BOOL: DType
DTYPE_FLOAT16: DType
DTYPE_FLOAT64: DType
DTYPE_UINT32: DType
DTYPE_UINT64: DType
DTYPE_COMPLEX64: DType
DTYPE_COMPLEX128: DType
DTYPE_BFLOAT16: DType
DTYPE_FLOAT8_E4M3FN: DType
DTYPE_FLOAT8_E5M2: DType
DTYPE_UINT4: DType
DTYPE_INT4: DType

class Manifest(_message.Message):
    __slots__ = ("format_version", "producer", "producer_version", "requirements", "files", "variables", "constants", "assets", "tables", "objects", "functions", "concrete_functions", "signatures", "metadata", "sha256", "examples")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    FORMAT_VERSION_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_VERSION_FIELD_NUMBER: _ClassVar[int]
    REQUIREMENTS_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    VARIABLES_FIELD_NUMBER: _ClassVar[int]
    CONSTANTS_FIELD_NUMBER: _ClassVar[int]
    ASSETS_FIELD_NUMBER: _ClassVar[int]
    TABLES_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    FUNCTIONS_FIELD_NUMBER: _ClassVar[int]
    CONCRETE_FUNCTIONS_FIELD_NUMBER: _ClassVar[int]
    SIGNATURES_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    EXAMPLES_FIELD_NUMBER: _ClassVar[int]
    format_version: int
    producer: str
    producer_version: str
    requirements: Requirements
    files: _containers.RepeatedCompositeFieldContainer[File]
    variables: _containers.RepeatedCompositeFieldContainer[Variable]
    constants: _containers.RepeatedCompositeFieldContainer[Constant]
    assets: _containers.RepeatedCompositeFieldContainer[Asset]
    tables: _containers.RepeatedCompositeFieldContainer[Table]
    objects: _containers.RepeatedCompositeFieldContainer[Object]
    functions: _containers.RepeatedCompositeFieldContainer[Function]
    concrete_functions: _containers.RepeatedCompositeFieldContainer[ConcreteFunction]
    signatures: _containers.RepeatedCompositeFieldContainer[Signature]
    metadata: _containers.ScalarMap[str, str]
    sha256: bytes
    examples: _containers.RepeatedCompositeFieldContainer[Example]
    def __init__(self, format_version: _Optional[int] = ..., producer: _Optional[str] = ..., producer_version: _Optional[str] = ..., requirements: _Optional[_Union[Requirements, _Mapping[str, _Any]]] = ..., files: _Optional[_Iterable[_Union[File, _Mapping[str, _Any]]]] = ..., variables: _Optional[_Iterable[_Union[Variable, _Mapping[str, _Any]]]] = ..., constants: _Optional[_Iterable[_Union[Constant, _Mapping[str, _Any]]]] = ..., assets: _Optional[_Iterable[_Union[Asset, _Mapping[str, _Any]]]] = ..., tables: _Optional[_Iterable[_Union[Table, _Mapping[str, _Any]]]] = ..., objects: _Optional[_Iterable[_Union[Object, _Mapping[str, _Any]]]] = ..., functions: _Optional[_Iterable[_Union[Function, _Mapping[str, _Any]]]] = ..., concrete_functions: _Optional[_Iterable[_Union[ConcreteFunction, _Mapping[str, _Any]]]] = ..., signatures: _Optional[_Iterable[_Union[Signature, _Mapping[str, _Any]]]] = ..., metadata: _Optional[_Mapping[str, str]] = ..., sha256: _Optional[bytes] = ..., examples: _Optional[_Iterable[_Union[Example, _Mapping[str, _Any]]]] = ...) -> None: ...

class Requirements(_message.Message):
    __slots__ = ("opset", "ir_version", "domains", "features")
    class DomainsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    OPSET_FIELD_NUMBER: _ClassVar[int]
    IR_VERSION_FIELD_NUMBER: _ClassVar[int]
    DOMAINS_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    opset: int
    ir_version: int
    domains: _containers.ScalarMap[str, int]
    features: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, opset: _Optional[int] = ..., ir_version: _Optional[int] = ..., domains: _Optional[_Mapping[str, int]] = ..., features: _Optional[_Iterable[str]] = ...) -> None: ...

class File(_message.Message):
    __slots__ = ("path", "size", "sha256", "crc32")
    PATH_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    CRC32_FIELD_NUMBER: _ClassVar[int]
    path: str
    size: int
    sha256: bytes
    crc32: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, path: _Optional[str] = ..., size: _Optional[int] = ..., sha256: _Optional[bytes] = ..., crc32: _Optional[_Iterable[int]] = ...) -> None: ...

class Dim(_message.Message):
    __slots__ = ("size", "name")
    SIZE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    size: int
    name: str
    def __init__(self, size: _Optional[int] = ..., name: _Optional[str] = ...) -> None: ...

class Shape(_message.Message):
    __slots__ = ("unknown_rank", "dims")
    UNKNOWN_RANK_FIELD_NUMBER: _ClassVar[int]
    DIMS_FIELD_NUMBER: _ClassVar[int]
    unknown_rank: bool
    dims: _containers.RepeatedCompositeFieldContainer[Dim]
    def __init__(self, unknown_rank: bool = ..., dims: _Optional[_Iterable[_Union[Dim, _Mapping[str, _Any]]]] = ...) -> None: ...

class TensorSpec(_message.Message):
    __slots__ = ("dtype", "shape", "name")
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    dtype: DType
    shape: Shape
    name: str
    def __init__(self, dtype: _Optional[_Union[DType, str]] = ..., shape: _Optional[_Union[Shape, _Mapping[str, _Any]]] = ..., name: _Optional[str] = ...) -> None: ...

class Storage(_message.Message):
    __slots__ = ("file", "key")
    FILE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    file: str
    key: str
    def __init__(self, file: _Optional[str] = ..., key: _Optional[str] = ...) -> None: ...

class Variable(_message.Message):
    __slots__ = ("name", "dtype", "shape", "trainable", "storage", "synchronization", "aggregation", "device")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    TRAINABLE_FIELD_NUMBER: _ClassVar[int]
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    SYNCHRONIZATION_FIELD_NUMBER: _ClassVar[int]
    AGGREGATION_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    name: str
    dtype: DType
    shape: Shape
    trainable: bool
    storage: Storage
    synchronization: str
    aggregation: str
    device: str
    def __init__(self, name: _Optional[str] = ..., dtype: _Optional[_Union[DType, str]] = ..., shape: _Optional[_Union[Shape, _Mapping[str, _Any]]] = ..., trainable: bool = ..., storage: _Optional[_Union[Storage, _Mapping[str, _Any]]] = ..., synchronization: _Optional[str] = ..., aggregation: _Optional[str] = ..., device: _Optional[str] = ...) -> None: ...

class Constant(_message.Message):
    __slots__ = ("name", "dtype", "shape", "inline", "storage")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    INLINE_FIELD_NUMBER: _ClassVar[int]
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    name: str
    dtype: DType
    shape: Shape
    inline: bytes
    storage: Storage
    def __init__(self, name: _Optional[str] = ..., dtype: _Optional[_Union[DType, str]] = ..., shape: _Optional[_Union[Shape, _Mapping[str, _Any]]] = ..., inline: _Optional[bytes] = ..., storage: _Optional[_Union[Storage, _Mapping[str, _Any]]] = ...) -> None: ...

class Asset(_message.Message):
    __slots__ = ("file",)
    FILE_FIELD_NUMBER: _ClassVar[int]
    file: str
    def __init__(self, file: _Optional[str] = ...) -> None: ...

class Table(_message.Message):
    __slots__ = ("name", "keys", "values", "default_value", "oov_buckets", "is_mutable")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_VALUE_FIELD_NUMBER: _ClassVar[int]
    OOV_BUCKETS_FIELD_NUMBER: _ClassVar[int]
    IS_MUTABLE_FIELD_NUMBER: _ClassVar[int]
    name: str
    keys: int
    values: int
    default_value: int
    oov_buckets: int
    is_mutable: bool
    def __init__(self, name: _Optional[str] = ..., keys: _Optional[int] = ..., values: _Optional[int] = ..., default_value: _Optional[int] = ..., oov_buckets: _Optional[int] = ..., is_mutable: bool = ...) -> None: ...

class Child(_message.Message):
    __slots__ = ("name", "object", "key")
    NAME_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    name: str
    object: int
    key: Value
    def __init__(self, name: _Optional[str] = ..., object: _Optional[int] = ..., key: _Optional[_Union[Value, _Mapping[str, _Any]]] = ...) -> None: ...

class Object(_message.Message):
    __slots__ = ("kind", "children", "target", "value", "field_names", "class_name", "metadata_json")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[Object.Kind]
        KIND_OBJECT: _ClassVar[Object.Kind]
        KIND_LIST: _ClassVar[Object.Kind]
        KIND_DICT: _ClassVar[Object.Kind]
        KIND_TUPLE: _ClassVar[Object.Kind]
        KIND_VARIABLE: _ClassVar[Object.Kind]
        KIND_FUNCTION: _ClassVar[Object.Kind]
        KIND_CONSTANT: _ClassVar[Object.Kind]
        KIND_ASSET: _ClassVar[Object.Kind]
        KIND_TABLE: _ClassVar[Object.Kind]
        KIND_VALUE: _ClassVar[Object.Kind]
    KIND_UNSPECIFIED: Object.Kind
    KIND_OBJECT: Object.Kind
    KIND_LIST: Object.Kind
    KIND_DICT: Object.Kind
    KIND_TUPLE: Object.Kind
    KIND_VARIABLE: Object.Kind
    KIND_FUNCTION: Object.Kind
    KIND_CONSTANT: Object.Kind
    KIND_ASSET: Object.Kind
    KIND_TABLE: Object.Kind
    KIND_VALUE: Object.Kind
    KIND_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    FIELD_NAMES_FIELD_NUMBER: _ClassVar[int]
    CLASS_NAME_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    kind: Object.Kind
    children: _containers.RepeatedCompositeFieldContainer[Child]
    target: int
    value: Value
    field_names: _containers.RepeatedScalarFieldContainer[str]
    class_name: str
    metadata_json: str
    def __init__(self, kind: _Optional[_Union[Object.Kind, str]] = ..., children: _Optional[_Iterable[_Union[Child, _Mapping[str, _Any]]]] = ..., target: _Optional[int] = ..., value: _Optional[_Union[Value, _Mapping[str, _Any]]] = ..., field_names: _Optional[_Iterable[str]] = ..., class_name: _Optional[str] = ..., metadata_json: _Optional[str] = ...) -> None: ...

class Value(_message.Message):
    __slots__ = ("none", "bool_value", "int_value", "big_int", "float_value", "string_value", "bytes_value", "complex_value", "list", "tuple", "dict", "record", "tensor_spec", "dtype", "shape", "leaf", "constant", "opaque")
    NONE_FIELD_NUMBER: _ClassVar[int]
    BOOL_VALUE_FIELD_NUMBER: _ClassVar[int]
    INT_VALUE_FIELD_NUMBER: _ClassVar[int]
    BIG_INT_FIELD_NUMBER: _ClassVar[int]
    FLOAT_VALUE_FIELD_NUMBER: _ClassVar[int]
    STRING_VALUE_FIELD_NUMBER: _ClassVar[int]
    BYTES_VALUE_FIELD_NUMBER: _ClassVar[int]
    COMPLEX_VALUE_FIELD_NUMBER: _ClassVar[int]
    LIST_FIELD_NUMBER: _ClassVar[int]
    TUPLE_FIELD_NUMBER: _ClassVar[int]
    DICT_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    TENSOR_SPEC_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    LEAF_FIELD_NUMBER: _ClassVar[int]
    CONSTANT_FIELD_NUMBER: _ClassVar[int]
    OPAQUE_FIELD_NUMBER: _ClassVar[int]
    none: bool
    bool_value: bool
    int_value: int
    big_int: str
    float_value: float
    string_value: str
    bytes_value: bytes
    complex_value: Complex
    list: ValueList
    tuple: ValueList
    dict: Dict
    record: Record
    tensor_spec: TensorSpec
    dtype: DType
    shape: Shape
    leaf: int
    constant: int
    opaque: Opaque
    def __init__(self, none: bool = ..., bool_value: bool = ..., int_value: _Optional[int] = ..., big_int: _Optional[str] = ..., float_value: _Optional[float] = ..., string_value: _Optional[str] = ..., bytes_value: _Optional[bytes] = ..., complex_value: _Optional[_Union[Complex, _Mapping[str, _Any]]] = ..., list: _Optional[_Union[ValueList, _Mapping[str, _Any]]] = ..., tuple: _Optional[_Union[ValueList, _Mapping[str, _Any]]] = ..., dict: _Optional[_Union[Dict, _Mapping[str, _Any]]] = ..., record: _Optional[_Union[Record, _Mapping[str, _Any]]] = ..., tensor_spec: _Optional[_Union[TensorSpec, _Mapping[str, _Any]]] = ..., dtype: _Optional[_Union[DType, str]] = ..., shape: _Optional[_Union[Shape, _Mapping[str, _Any]]] = ..., leaf: _Optional[int] = ..., constant: _Optional[int] = ..., opaque: _Optional[_Union[Opaque, _Mapping[str, _Any]]] = ...) -> None: ...

class Complex(_message.Message):
    __slots__ = ("real", "imag")
    REAL_FIELD_NUMBER: _ClassVar[int]
    IMAG_FIELD_NUMBER: _ClassVar[int]
    real: float
    imag: float
    def __init__(self, real: _Optional[float] = ..., imag: _Optional[float] = ...) -> None: ...

class ValueList(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Value]
    def __init__(self, items: _Optional[_Iterable[_Union[Value, _Mapping[str, _Any]]]] = ...) -> None: ...

class Dict(_message.Message):
    __slots__ = ("entries",)
    class Entry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: Value
        value: Value
        def __init__(self, key: _Optional[_Union[Value, _Mapping[str, _Any]]] = ..., value: _Optional[_Union[Value, _Mapping[str, _Any]]] = ...) -> None: ...
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[Dict.Entry]
    def __init__(self, entries: _Optional[_Iterable[_Union[Dict.Entry, _Mapping[str, _Any]]]] = ...) -> None: ...

class Record(_message.Message):
    __slots__ = ("type_name", "fields", "is_tuple")
    class Field(_message.Message):
        __slots__ = ("name", "value")
        NAME_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        name: str
        value: Value
        def __init__(self, name: _Optional[str] = ..., value: _Optional[_Union[Value, _Mapping[str, _Any]]] = ...) -> None: ...
    TYPE_NAME_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    IS_TUPLE_FIELD_NUMBER: _ClassVar[int]
    type_name: str
    fields: _containers.RepeatedCompositeFieldContainer[Record.Field]
    is_tuple: bool
    def __init__(self, type_name: _Optional[str] = ..., fields: _Optional[_Iterable[_Union[Record.Field, _Mapping[str, _Any]]]] = ..., is_tuple: bool = ...) -> None: ...

class Opaque(_message.Message):
    __slots__ = ("type_name", "text")
    TYPE_NAME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    type_name: str
    text: str
    def __init__(self, type_name: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class Parameter(_message.Message):
    __slots__ = ("name", "kind", "default")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        POSITIONAL_ONLY: _ClassVar[Parameter.Kind]
        POSITIONAL_OR_KEYWORD: _ClassVar[Parameter.Kind]
        VAR_POSITIONAL: _ClassVar[Parameter.Kind]
        KEYWORD_ONLY: _ClassVar[Parameter.Kind]
        VAR_KEYWORD: _ClassVar[Parameter.Kind]
    POSITIONAL_ONLY: Parameter.Kind
    POSITIONAL_OR_KEYWORD: Parameter.Kind
    VAR_POSITIONAL: Parameter.Kind
    KEYWORD_ONLY: Parameter.Kind
    VAR_KEYWORD: Parameter.Kind
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: Parameter.Kind
    default: Value
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[_Union[Parameter.Kind, str]] = ..., default: _Optional[_Union[Value, _Mapping[str, _Any]]] = ...) -> None: ...

class Function(_message.Message):
    __slots__ = ("name", "parameters", "concrete_functions", "input_signature", "doc")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    CONCRETE_FUNCTIONS_FIELD_NUMBER: _ClassVar[int]
    INPUT_SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    DOC_FIELD_NUMBER: _ClassVar[int]
    name: str
    parameters: _containers.RepeatedCompositeFieldContainer[Parameter]
    concrete_functions: _containers.RepeatedScalarFieldContainer[int]
    input_signature: Value
    doc: str
    def __init__(self, name: _Optional[str] = ..., parameters: _Optional[_Iterable[_Union[Parameter, _Mapping[str, _Any]]]] = ..., concrete_functions: _Optional[_Iterable[int]] = ..., input_signature: _Optional[_Union[Value, _Mapping[str, _Any]]] = ..., doc: _Optional[str] = ...) -> None: ...

class GraphInput(_message.Message):
    __slots__ = ("name", "dtype", "shape", "argument", "variable", "constant")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    ARGUMENT_FIELD_NUMBER: _ClassVar[int]
    VARIABLE_FIELD_NUMBER: _ClassVar[int]
    CONSTANT_FIELD_NUMBER: _ClassVar[int]
    name: str
    dtype: DType
    shape: Shape
    argument: int
    variable: int
    constant: int
    def __init__(self, name: _Optional[str] = ..., dtype: _Optional[_Union[DType, str]] = ..., shape: _Optional[_Union[Shape, _Mapping[str, _Any]]] = ..., argument: _Optional[int] = ..., variable: _Optional[int] = ..., constant: _Optional[int] = ...) -> None: ...

class GraphOutput(_message.Message):
    __slots__ = ("name", "dtype", "shape", "result", "variable")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    VARIABLE_FIELD_NUMBER: _ClassVar[int]
    name: str
    dtype: DType
    shape: Shape
    result: int
    variable: int
    def __init__(self, name: _Optional[str] = ..., dtype: _Optional[_Union[DType, str]] = ..., shape: _Optional[_Union[Shape, _Mapping[str, _Any]]] = ..., result: _Optional[int] = ..., variable: _Optional[int] = ...) -> None: ...

class FrozenVariable(_message.Message):
    __slots__ = ("name", "variable")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VARIABLE_FIELD_NUMBER: _ClassVar[int]
    name: str
    variable: int
    def __init__(self, name: _Optional[str] = ..., variable: _Optional[int] = ...) -> None: ...

class Graph(_message.Message):
    __slots__ = ("file", "inputs", "outputs", "frozen_variables")
    FILE_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    FROZEN_VARIABLES_FIELD_NUMBER: _ClassVar[int]
    file: str
    inputs: _containers.RepeatedCompositeFieldContainer[GraphInput]
    outputs: _containers.RepeatedCompositeFieldContainer[GraphOutput]
    frozen_variables: _containers.RepeatedCompositeFieldContainer[FrozenVariable]
    def __init__(self, file: _Optional[str] = ..., inputs: _Optional[_Iterable[_Union[GraphInput, _Mapping[str, _Any]]]] = ..., outputs: _Optional[_Iterable[_Union[GraphOutput, _Mapping[str, _Any]]]] = ..., frozen_variables: _Optional[_Iterable[_Union[FrozenVariable, _Mapping[str, _Any]]]] = ...) -> None: ...

class ConcreteFunction(_message.Message):
    __slots__ = ("name", "arguments", "result", "argument_leaves", "result_leaves", "graph", "live_graph", "gradient_graph")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ARGUMENT_LEAVES_FIELD_NUMBER: _ClassVar[int]
    RESULT_LEAVES_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    LIVE_GRAPH_FIELD_NUMBER: _ClassVar[int]
    GRADIENT_GRAPH_FIELD_NUMBER: _ClassVar[int]
    name: str
    arguments: Value
    result: Value
    argument_leaves: _containers.RepeatedCompositeFieldContainer[TensorSpec]
    result_leaves: _containers.RepeatedCompositeFieldContainer[TensorSpec]
    graph: Graph
    live_graph: Graph
    gradient_graph: Graph
    def __init__(self, name: _Optional[str] = ..., arguments: _Optional[_Union[Value, _Mapping[str, _Any]]] = ..., result: _Optional[_Union[Value, _Mapping[str, _Any]]] = ..., argument_leaves: _Optional[_Iterable[_Union[TensorSpec, _Mapping[str, _Any]]]] = ..., result_leaves: _Optional[_Iterable[_Union[TensorSpec, _Mapping[str, _Any]]]] = ..., graph: _Optional[_Union[Graph, _Mapping[str, _Any]]] = ..., live_graph: _Optional[_Union[Graph, _Mapping[str, _Any]]] = ..., gradient_graph: _Optional[_Union[Graph, _Mapping[str, _Any]]] = ...) -> None: ...

class SignatureTensor(_message.Message):
    __slots__ = ("name", "leaf")
    NAME_FIELD_NUMBER: _ClassVar[int]
    LEAF_FIELD_NUMBER: _ClassVar[int]
    name: str
    leaf: int
    def __init__(self, name: _Optional[str] = ..., leaf: _Optional[int] = ...) -> None: ...

class Signature(_message.Message):
    __slots__ = ("name", "concrete_function", "inputs", "outputs")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CONCRETE_FUNCTION_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    concrete_function: int
    inputs: _containers.RepeatedCompositeFieldContainer[SignatureTensor]
    outputs: _containers.RepeatedCompositeFieldContainer[SignatureTensor]
    def __init__(self, name: _Optional[str] = ..., concrete_function: _Optional[int] = ..., inputs: _Optional[_Iterable[_Union[SignatureTensor, _Mapping[str, _Any]]]] = ..., outputs: _Optional[_Iterable[_Union[SignatureTensor, _Mapping[str, _Any]]]] = ...) -> None: ...

class Example(_message.Message):
    __slots__ = ("signature", "calls", "tolerance", "variables_sha256", "is_given")
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    TOLERANCE_FIELD_NUMBER: _ClassVar[int]
    VARIABLES_SHA256_FIELD_NUMBER: _ClassVar[int]
    IS_GIVEN_FIELD_NUMBER: _ClassVar[int]
    signature: str
    calls: _containers.RepeatedCompositeFieldContainer[ExampleCall]
    tolerance: float
    variables_sha256: bytes
    is_given: bool
    def __init__(self, signature: _Optional[str] = ..., calls: _Optional[_Iterable[_Union[ExampleCall, _Mapping[str, _Any]]]] = ..., tolerance: _Optional[float] = ..., variables_sha256: _Optional[bytes] = ..., is_given: bool = ...) -> None: ...

class ExampleCall(_message.Message):
    __slots__ = ("inputs", "outputs")
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    inputs: _containers.RepeatedCompositeFieldContainer[NamedTensor]
    outputs: _containers.RepeatedCompositeFieldContainer[NamedTensor]
    def __init__(self, inputs: _Optional[_Iterable[_Union[NamedTensor, _Mapping[str, _Any]]]] = ..., outputs: _Optional[_Iterable[_Union[NamedTensor, _Mapping[str, _Any]]]] = ...) -> None: ...

class NamedTensor(_message.Message):
    __slots__ = ("name", "storage")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    name: str
    storage: Storage
    def __init__(self, name: _Optional[str] = ..., storage: _Optional[_Union[Storage, _Mapping[str, _Any]]] = ...) -> None: ...
