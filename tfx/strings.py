"""``tfx.strings``: operations on texts. Those with an ONNX operator can be saved."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.lookup_ops.hash_buckets import to_hash_bucket as to_hash_bucket
from tfx.lookup_ops.hash_buckets import to_hash_bucket_fast as to_hash_bucket_fast
from tfx.lookup_ops.hash_buckets import to_hash_bucket_strong as to_hash_bucket_strong
from tfx.ops.strings.python_strings import as_string as as_string
from tfx.ops.strings.python_strings import format_ as _format
from tfx.ops.strings.python_strings import length as length
from tfx.ops.strings.python_strings import ngrams as ngrams
from tfx.ops.strings.python_strings import regex_replace as regex_replace
from tfx.ops.strings.python_strings import strip as strip
from tfx.ops.strings.python_strings import substr as substr
from tfx.ops.strings.python_strings import unsorted_segment_join as unsorted_segment_join
from tfx.ops.strings.strings import join as join
from tfx.ops.strings.strings import lower as lower
from tfx.ops.strings.strings import reduce_join as reduce_join
from tfx.ops.strings.strings import regex_full_match as regex_full_match
from tfx.ops.strings.strings import to_number as to_number
from tfx.ops.strings.strings import upper as upper
from tfx.ops.strings.unicode import unicode_encode as unicode_encode
from tfx.ops.strings.unicode import unicode_script as unicode_script
from tfx.ops.strings.unicode import unicode_transcode as unicode_transcode
from tfx.ragged_ops.strings import bytes_split as bytes_split
from tfx.ragged_ops.strings import split as split
from tfx.ragged_ops.strings import unicode_decode as unicode_decode
from tfx.ragged_ops.strings import unicode_decode_with_offsets as unicode_decode_with_offsets
from tfx.ragged_ops.strings import unicode_split as unicode_split
from tfx.ragged_ops.strings import unicode_split_with_offsets as unicode_split_with_offsets

format = _format

_complete(__name__)
