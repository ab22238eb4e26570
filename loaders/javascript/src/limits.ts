/** The caps that keep a hostile bundle from exhausting the process; see SPEC.md, section 13. */

export const FORMAT_VERSION = 1;
export const MAX_MANIFEST_BYTES = 256 * 2 ** 20;
export const MAX_GRAPH_BYTES = 2 ** 31 - 1;
export const MAX_TENSOR_HEADER_BYTES = 100_000_000;
export const MAX_INLINE_CONSTANT_BYTES = 2 ** 20;
/** An archive's list of entries: about a million files. */
export const MAX_ARCHIVE_DIRECTORY_BYTES = 64 * 2 ** 20;
export const MAX_PATH_LENGTH = 1024;
export const MAX_NAME_LENGTH = 65_536;
export const MAX_RANK = 64;
export const MAX_EXPANDED_NODES = 2_000_000;
export const MAX_GRAPH_DEPTH = 40;
export const MAX_VALUE_DEPTH = 30;
/** Files up to this size are hashed whenever a bundle is opened, others on demand. */
export const HASH_ON_LOAD_BYTES = 4 * 2 ** 20;
/** Sizes and offsets beyond it cannot be told apart by JavaScript's numbers. */
export const MAX_SIZE = Number.MAX_SAFE_INTEGER;
