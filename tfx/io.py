"""``tfx.io``: files, images and tensors as bytes."""

from __future__ import annotations

from tfx.core import gfile as _gfile
from tfx.core.namespaces import complete as _complete
from tfx.core.namespaces import namespace as _namespace
from tfx.ops.io.files import decode_base64 as decode_base64
from tfx.ops.io.files import decode_raw as decode_raw
from tfx.ops.io.files import encode_base64 as encode_base64
from tfx.ops.io.files import matching_files as matching_files
from tfx.ops.io.files import read_file as read_file
from tfx.ops.io.files import write_file as write_file
from tfx.ops.io.pictures import decode_and_crop_jpeg as decode_and_crop_jpeg
from tfx.ops.io.pictures import decode_bmp as decode_bmp
from tfx.ops.io.pictures import decode_gif as decode_gif
from tfx.ops.io.pictures import decode_image as decode_image
from tfx.ops.io.pictures import decode_jpeg as decode_jpeg
from tfx.ops.io.pictures import encode_jpeg as encode_jpeg
from tfx.ops.io.pictures import extract_jpeg_shape as extract_jpeg_shape
from tfx.ops.io.pictures import is_jpeg as is_jpeg
from tfx.ops.io.png import decode_png as decode_png
from tfx.ops.io.png import encode_png as encode_png
from tfx.ops.io.tensor_proto import parse_tensor as parse_tensor
from tfx.ops.io.tensor_proto import serialize_tensor as serialize_tensor
from tfx.parsing.decode_compressed import decode_compressed as decode_compressed
from tfx.parsing.decode_csv import decode_csv as decode_csv
from tfx.parsing.decode_json_example import decode_json_example as decode_json_example
from tfx.parsing.features import FixedLenFeature as FixedLenFeature
from tfx.parsing.features import FixedLenSequenceFeature as FixedLenSequenceFeature
from tfx.parsing.features import RaggedFeature as RaggedFeature
from tfx.parsing.features import SparseFeature as SparseFeature
from tfx.parsing.features import VarLenFeature as VarLenFeature
from tfx.parsing.parse_example import parse_example as parse_example
from tfx.parsing.parse_example import parse_single_example as parse_single_example
from tfx.parsing.parse_sequence_example import (
    parse_sequence_example as parse_sequence_example,
)
from tfx.parsing.parse_sequence_example import (
    parse_single_sequence_example as parse_single_sequence_example,
)
from tfx.sparse_ops.serialized import deserialize_many_sparse as deserialize_many_sparse
from tfx.sparse_ops.serialized import serialize_many_sparse as serialize_many_sparse
from tfx.sparse_ops.serialized import serialize_sparse as serialize_sparse
from tfx.summary.record_writer import TFRecordOptions as TFRecordOptions
from tfx.summary.record_writer import TFRecordWriter as TFRecordWriter

gfile = _namespace(
    "tfx.io.gfile",
    GFile=_gfile.GFile,
    copy=_gfile.copy,
    exists=_gfile.exists,
    glob=_gfile.glob,
    isdir=_gfile.isdir,
    join=_gfile.join,
    listdir=_gfile.listdir,
    makedirs=_gfile.makedirs,
    mkdir=_gfile.mkdir,
    remove=_gfile.remove,
    rename=_gfile.rename,
    rmtree=_gfile.rmtree,
    stat=_gfile.stat,
    walk=_gfile.walk,
)

_complete(__name__, "gfile")
