"""``tfx.strings``: operations on texts. Those with an ONNX operator can be saved."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.ops.strings import join as join
from tfx.ops.strings import lower as lower
from tfx.ops.strings import reduce_join as reduce_join
from tfx.ops.strings import regex_full_match as regex_full_match
from tfx.ops.strings import split as split
from tfx.ops.strings import to_number as to_number
from tfx.ops.strings import upper as upper
from tfx.ops.strings_python import as_string as as_string
from tfx.ops.strings_python import bytes_split as bytes_split
from tfx.ops.strings_python import format_ as _format
from tfx.ops.strings_python import length as length
from tfx.ops.strings_python import ngrams as ngrams
from tfx.ops.strings_python import regex_replace as regex_replace
from tfx.ops.strings_python import strip as strip
from tfx.ops.strings_python import substr as substr
from tfx.ops.strings_python import unicode_decode as unicode_decode
from tfx.ops.strings_python import unicode_encode as unicode_encode
from tfx.ops.strings_python import unicode_split as unicode_split
from tfx.ops.strings_python import unicode_transcode as unicode_transcode
from tfx.ops.strings_python import unsorted_segment_join as unsorted_segment_join
from tfx.tables.hashing import to_hash_bucket_fast as to_hash_bucket_fast

format = _format

_complete(__name__)
