/**
 * Checkpoints: variables by name in safetensors files, with sums of what they hold.
 *
 * See SPEC.md, section 11. A file of another program has no sums, and is believed.
 */

import { byCodePoint, type Crc32, digits, PIECE, pieceCount, sumsOf } from './checksums.js';
import { elementType } from './dtypes.js';
import { BundleError, listed, reason, UnsupportedVersionError } from './errors.js';
import {
  type Encoded,
  type Header,
  headerLength,
  makeHeader,
  parseHeader,
  type TensorEntry,
} from './safetensors.js';
import { decode, encode, type Tensor } from './tensor.js';

const FORMAT_KEY = 'tfx.checkpoint';
const FORMAT = 1;
const OBJECTS_KEY = 'tfx.objects';
const SUMS_KEY = 'tfx.crc32';
const HEADER_KEY = 'tfx.header';
const NO_SUM = '0'.repeat(8);

/** A file of a checkpoint: all of it, or one of several shards. */
export interface CheckpointPart {
  /** The file, for messages. */
  readonly where: string;
  readonly size: number;
  /** Bytes of the file. */
  read(offset: number, length: number): Uint8Array;
}

/** A file that is in memory. */
export function inMemory(data: Uint8Array, where: string): CheckpointPart {
  return {
    where,
    size: data.length,
    read: (offset, length) => data.subarray(offset, offset + length),
  };
}

/** An open checkpoint, whose values are read when asked for. */
export interface Checkpoint {
  keys(): string[];
  /** @throws BundleError its bytes are not those that were saved. */
  tensor(key: string): Tensor;
}

/** Where a tensor is. */
interface Place {
  readonly part: CheckpointPart;
  readonly entry: TensorEntry;
}

/**
 * Check the headers of a checkpoint's files.
 *
 * @param parts Its file, or all of its shards.
 * @throws BundleError one is damaged, or they do not belong together.
 * @throws UnsupportedVersionError the checkpoint is newer than this program.
 */
export function openCheckpoint(parts: readonly CheckpointPart[], crc32: Crc32): Checkpoint {
  const places = new Map<string, Place>();
  let first: Header | null = null;
  for (const part of parts) {
    const length = headerLength(part.read(0, Math.min(8, part.size)), part.size, part.where);
    const head = part.read(0, 8 + length);
    const header = parseHeader(head.subarray(8), part.size, part.where);
    checkHeader(head, header.metadata, crc32, part.where);
    first ??= header;
    if (JSON.stringify(shared(header)) !== JSON.stringify(shared(first))) {
      throw damaged(part.where, 'it says something else than other files of the checkpoint');
    }
    for (const [key, entry] of header.tensors) {
      if (places.has(key)) throw damaged(part.where, `${JSON.stringify(key)} is in two files`);
      places.set(key, { part, entry });
    }
  }
  const where = parts[0]?.where ?? 'the checkpoint';
  const metadata = first?.metadata ?? {};
  checkVersion(metadata[FORMAT_KEY], where);
  const sums = checkedSums(metadata[SUMS_KEY], places, where);
  checkObjects(metadata[OBJECTS_KEY], new Set(places.keys()), where);
  return {
    keys: () => [...places.keys()],
    tensor: (key) => tensorAt(key, places.get(key) as Place, sums?.get(key), crc32),
  };
}

function damaged(where: string, problem: string): BundleError {
  return new BundleError(
    `${where}: ${problem}; the file was changed or damaged: use an older checkpoint, or a copy`,
  );
}

/** What all shards of a checkpoint say alike. */
function shared({ metadata }: Header): [string, string][] {
  return Object.entries(metadata)
    .filter(([key]) => key !== HEADER_KEY)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Either there are all sums, and that of the header is right, or another program wrote the file. */
function checkHeader(
  head: Uint8Array,
  metadata: Readonly<Record<string, string>>,
  crc32: Crc32,
  where: string,
): void {
  const keys = [FORMAT_KEY, SUMS_KEY, HEADER_KEY];
  const missing = keys.filter((key) => metadata[key] === undefined);
  if (missing.length === keys.length) return;
  if (missing.length) throw damaged(where, `it has no ${missing.join(' and no ')}`);
  const place = sumPlace(head);
  const blank = new Uint8Array(head);
  if (place !== null) blank.set(new TextEncoder().encode(NO_SUM), place);
  if (place === null || digits(crc32(blank)) !== metadata[HEADER_KEY]) {
    throw damaged(where, 'its header has another CRC-32 than it says');
  }
}

/** Where the sum of a header is in it; quotes cannot stand inside of another text. */
function sumPlace(head: Uint8Array): number | null {
  const label = `"${HEADER_KEY}":"`;
  // One character for each byte.
  const found = new TextDecoder('latin1').decode(head).indexOf(label);
  return found < 0 ? null : found + label.length;
}

function tensorAt(
  key: string,
  { part, entry }: Place,
  sums: string | undefined,
  crc32: Crc32,
): Tensor {
  const { dtype, shape, offset, nbytes } = entry;
  const what = `${part.where}: tensor ${JSON.stringify(key)}`;
  const bytes = part.read(offset, nbytes);
  if (sums !== undefined && sumsOf([bytes], crc32).map(digits).join('') !== sums) {
    throw damaged(what, 'its bytes have another CRC-32 than the file says');
  }
  return decode(bytes, dtype, shape, what);
}

function checkVersion(text: string | undefined, where: string): void {
  if (text === undefined) return;
  if (!/^[0-9]{1,9}$/.test(text)) {
    throw damaged(where, `its format is ${JSON.stringify(text.slice(0, 80))}, expected a number`);
  }
  if (Number(text) > FORMAT) {
    throw new UnsupportedVersionError(
      `${where}: a checkpoint of format ${text}, this version reads up to ${FORMAT}; upgrade tfx-onnx`,
    );
  }
}

/** The sums of each tensor's pieces, in digits; null: another program wrote the file. */
function checkedSums(
  text: string | undefined,
  places: ReadonlyMap<string, Place>,
  where: string,
): Map<string, string> | null {
  if (text === undefined) return null;
  let rows: [string, unknown][];
  try {
    rows = Object.entries(JSON.parse(text) as Record<string, unknown>);
  } catch (error) {
    throw damaged(where, `its ${SUMS_KEY} cannot be used (${reason(error)})`);
  }
  const sums = new Map<string, string>();
  for (const [key, row] of rows) {
    const count = 8 * pieceCount(places.get(key)?.entry.nbytes ?? -PIECE);
    if (typeof row === 'string' && row.length === count) sums.set(key, row);
  }
  if (sums.size !== places.size || rows.length !== places.size) {
    throw damaged(where, `its ${SUMS_KEY} is about other tensors than it has`);
  }
  return sums;
}

interface ObjectNode {
  children?: Record<string, number>;
  key?: string;
}

/** The keys of a checkpoint's object graph must be its tensors. */
function checkObjects(text: string | undefined, keys: ReadonlySet<string>, where: string): void {
  if (text === undefined) return;
  let named: string[];
  try {
    const { nodes } = JSON.parse(text) as { nodes: readonly ObjectNode[] };
    named = nodes.flatMap(({ key }) => (key === undefined ? [] : [key]));
  } catch (error) {
    throw damaged(where, `its object graph cannot be read (${reason(error)})`);
  }
  if (new Set(named).size !== keys.size || named.some((key) => !keys.has(key))) {
    throw damaged(
      where,
      `its object graph has the keys ${listed(named)}, its tensors are ${listed(keys)}`,
    );
  }
}

/** A file of a checkpoint that is to be written. */
export interface CheckpointFile {
  readonly parts: readonly Uint8Array[];
  readonly keys: readonly string[];
  /** Bytes of its tensors. */
  readonly nbytes: number;
}

/**
 * The files of a checkpoint.
 *
 * @param most Bytes of tensors that a file gets, unless a single tensor has more.
 */
export function makeCheckpoint(
  tensors: ReadonlyMap<string, Tensor>,
  crc32: Crc32,
  most: number,
): CheckpointFile[] {
  const encoded = new Map<string, Encoded>();
  for (const key of [...tensors.keys()].sort(byCodePoint)) {
    const tensor = tensors.get(key) as Tensor;
    encoded.set(key, { dtype: tensor.dtype, shape: tensor.shape, bytes: encode(tensor) });
  }
  const metadata: Record<string, string> = {
    [FORMAT_KEY]: String(FORMAT),
    [OBJECTS_KEY]: JSON.stringify({ nodes: objectNodes([...tensors.keys()]) }),
  };
  const sums = [...encoded].map(([key, { bytes }]) => [
    key,
    sumsOf([bytes], crc32).map(digits).join(''),
  ]);
  metadata[SUMS_KEY] = JSON.stringify(Object.fromEntries(sums));
  metadata[HEADER_KEY] = NO_SUM;
  return shards(encoded, most).map((shard) => {
    const head = makeHeader(shard, metadata);
    head.set(new TextEncoder().encode(digits(crc32(head))), sumPlace(head) ?? 0);
    const parts = [head, ...[...shard.values()].map(({ bytes }) => bytes)];
    return { parts, keys: [...shard.keys()], nbytes: total(shard) };
  });
}

function total(shard: ReadonlyMap<string, Encoded>): number {
  return [...shard.values()].reduce((n, { bytes }) => n + bytes.length, 0);
}

/** Filled in the order of the keys; in each, large elements come first, so that all are aligned. */
function shards(encoded: ReadonlyMap<string, Encoded>, most: number): Map<string, Encoded>[] {
  const groups: [string, Encoded][][] = [[]];
  let room = most;
  for (const item of encoded) {
    const size = item[1].bytes.length;
    if (size > room && groups.at(-1)?.length) {
      groups.push([]);
      room = most;
    }
    groups.at(-1)?.push(item);
    room -= size;
  }
  const bits = ({ dtype }: Encoded) => elementType(dtype).bits / elementType(dtype).perElement;
  return groups.map((group) => new Map(group.sort(([, a], [, b]) => bits(b) - bits(a))));
}

/** The object graph whose paths are the names, divided at slashes. */
function objectNodes(names: readonly string[]): ObjectNode[] {
  const nodes: ObjectNode[] = [{}];
  for (const name of names) {
    let at = 0;
    for (const part of name.split('/')) {
      const node = nodes[at] as ObjectNode;
      node.children ??= Object.create(null) as Record<string, number>;
      at = node.children[part] ??= nodes.push({}) - 1;
    }
    (nodes[at] as ObjectNode).key = name;
  }
  return nodes;
}
