/**
 * The safetensors format: the header of a file that nobody vouches for, and files that we write.
 *
 * As strict as the format's specification: nothing is accepted that two readers could understand
 * differently (duplicate keys, holes, overlaps, trailing bytes).
 */

import {
  BY_NAME,
  BY_SAFETENSORS,
  type DType,
  type ElementType,
  elementType,
  sizeOf,
} from './dtypes.js';
import { BundleError, reason } from './errors.js';
import { MAX_RANK, MAX_SIZE, MAX_TENSOR_HEADER_BYTES } from './limits.js';
import { joined } from './wire.js';

/** The metadata key under which the true dtype and shape of encoded tensors are. */
const ENCODING_KEY = 'tfx.encoding';

/** A tensor of a file; `offset` counts from the beginning of the file. */
export interface TensorEntry {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly offset: number;
  readonly nbytes: number;
  /** What the file calls it; strings and some other dtypes are stored as something else. */
  readonly storedDtype: string;
  readonly storedShape: readonly number[];
}

/** A checked header. */
export interface Header {
  readonly metadata: Readonly<Record<string, string>>;
  readonly tensors: ReadonlyMap<string, TensorEntry>;
  /** Bytes before the first tensor. */
  readonly size: number;
}

/** Length of a header from the first eight bytes of a file. */
export function headerLength(head: Uint8Array, size: number, where: string): number {
  const length = head.length < 8 ? -1 : Number(view(head).getBigUint64(0, true));
  if (length < 2 || length > MAX_TENSOR_HEADER_BYTES || length + 8 > size) {
    throw new BundleError(
      `${where}: its first eight bytes give a header of ${length} bytes in a file of ${size}; it ` +
        'is no safetensors file, or is truncated: copy or save the bundle again',
    );
  }
  return length;
}

function view(data: Uint8Array): DataView {
  return new DataView(data.buffer, data.byteOffset, data.byteLength);
}

/**
 * Check a header.
 *
 * @param text The JSON.
 * @param size The size of the file.
 * @param where The file, for messages.
 * @throws BundleError it breaks a rule of the format.
 */
export function parseHeader(text: Uint8Array, size: number, where: string): Header {
  const refuse = (problem: string): never => {
    throw new BundleError(`${where}: ${problem}; the file is damaged: copy or save it again`);
  };
  const table = parseObject(text, 'its header', refuse);
  const { __metadata__: metadata = {}, ...items } = table;
  if (!isTextTable(metadata)) return refuse('__metadata__ is not an object of strings');
  const begin = 8 + text.length;
  const tensors = new Map<string, TensorEntry>();
  for (const [key, item] of Object.entries(items)) {
    tensors.set(
      key,
      entry(item, begin, (problem) => refuse(`tensor ${JSON.stringify(key)}: ${problem}`)),
    );
  }
  checkLayout(tensors, begin, size, refuse);
  const { [ENCODING_KEY]: encoding, ...others } = metadata;
  if (encoding !== undefined) {
    const encodings = parseObject(new TextEncoder().encode(encoding), ENCODING_KEY, refuse);
    for (const [key, item] of Object.entries(encodings)) {
      const fail = (problem: string) => refuse(`encoded tensor ${JSON.stringify(key)}: ${problem}`);
      const stored = tensors.get(key) ?? fail('there is no such tensor');
      tensors.set(key, decoded(stored, item, fail));
    }
  }
  return { metadata: others, tensors, size: begin };
}

type Refuse = (problem: string) => never;

function parseObject(text: Uint8Array, what: string, refuse: Refuse): Record<string, unknown> {
  let source = '';
  let table: unknown;
  try {
    source = new TextDecoder('utf-8', { fatal: true }).decode(text);
    table = JSON.parse(source);
  } catch (error) {
    return refuse(`${what} is not JSON (${reason(error)})`);
  }
  if (!source.startsWith('{') || !isObject(table)) return refuse(`${what} is not a JSON object`);
  const twice = duplicateKey(source);
  if (twice !== null) return refuse(`${what} has the key ${JSON.stringify(twice)} twice`);
  return table;
}

function isObject(item: unknown): item is Record<string, unknown> {
  return typeof item === 'object' && item !== null && !Array.isArray(item);
}

function isTextTable(item: unknown): item is Record<string, string> {
  return isObject(item) && Object.values(item).every((text) => typeof text === 'string');
}

/** A key that an object of valid JSON has twice; `JSON.parse` takes the last without a word. */
function duplicateKey(source: string): string | null {
  const open: (Set<string> | null)[] = [];
  const token = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/g;
  for (const [text, colon] of source.matchAll(token)) {
    if (text === '{') open.push(new Set());
    else if (text === '[') open.push(null);
    else if (text === '}' || text === ']') open.pop();
    else if (colon !== undefined) {
      const key = JSON.parse(text.slice(0, text.length - colon.length)) as string;
      const keys = open.at(-1);
      if (keys?.has(key)) return key;
      keys?.add(key);
    }
  }
  return null;
}

function entry(item: unknown, begin: number, refuse: Refuse): TensorEntry {
  if (!isObject(item)) return refuse('expected dtype, shape and data_offsets');
  const { dtype, shape, data_offsets: offsets } = item;
  const row = typeof dtype === 'string' ? BY_SAFETENSORS.get(dtype) : undefined;
  if (!row) return refuse(`dtype ${JSON.stringify(dtype)} is none of the format's`);
  const dims = shapeOf(shape, refuse);
  if (!isIntegers(offsets) || offsets.length !== 2)
    return refuse('data_offsets are not two integers');
  const [start, end] = offsets as [number, number];
  const nbytes = (sizeOf(dims) * row.bits) / 8;
  if (end - start !== nbytes) {
    return refuse(
      `data_offsets [${start}, ${end}], expected ${nbytes} bytes for ${row.safetensors}[${dims.join(', ')}]`,
    );
  }
  return {
    dtype: row.name,
    shape: dims,
    offset: begin + start,
    nbytes,
    storedDtype: row.safetensors,
    storedShape: dims,
  };
}

function isIntegers(item: unknown): item is number[] {
  return Array.isArray(item) && item.every((part) => Number.isSafeInteger(part) && part >= 0);
}

function shapeOf(item: unknown, refuse: Refuse): number[] {
  if (!isIntegers(item) || item.length > MAX_RANK)
    return refuse('its shape is no list of integers');
  if (sizeOf(item.filter((dim) => dim > 0)) > MAX_SIZE)
    return refuse('its shape is beyond all limits');
  return item;
}

function checkLayout(
  tensors: ReadonlyMap<string, TensorEntry>,
  begin: number,
  size: number,
  refuse: Refuse,
): void {
  let end = begin;
  const sorted = [...tensors].sort(([, a], [, b]) => a.offset - b.offset || a.nbytes - b.nbytes);
  for (const [key, item] of sorted) {
    if (item.offset !== end) {
      refuse(`${item.offset > end ? 'a hole' : 'an overlap'} before tensor ${JSON.stringify(key)}`);
    }
    end += item.nbytes;
  }
  if (end !== size) refuse(`it has ${size} bytes, expected ${end} from its header`);
}

/** Replace the dtype and shape under which a tensor is stored by the true ones. */
function decoded(stored: TensorEntry, item: unknown, refuse: Refuse): TensorEntry {
  if (!isObject(item)) return refuse('expected dtype and shape');
  const row = typeof item['dtype'] === 'string' ? BY_NAME.get(item['dtype']) : undefined;
  if (!row) return refuse(`its dtype is ${JSON.stringify(item['dtype'])}`);
  const shape = shapeOf(item['shape'], refuse);
  const [storedDtype, storedShape] = storedForm(row, shape);
  const fits =
    storedShape === null
      ? stored.shape.length === 1
      : String(storedShape) === String(stored.shape) && storedShape.length === stored.shape.length;
  if (stored.storedDtype !== storedDtype || !fits) {
    return refuse(`stored as ${stored.storedDtype}, which is not how ${row.name} is stored`);
  }
  return { ...stored, dtype: row.name, shape };
}

/** Safetensors' dtype and shape for a tensor; the length of strings cannot be known (null). */
export function storedForm(
  row: ElementType,
  shape: readonly number[],
): [string, readonly number[] | null] {
  if (row.safetensors) return [row.safetensors, shape];
  if (row.name === 'complex128') return ['F64', [...shape, 2]];
  if (row.name === 'string') return ['U8', null];
  return ['U8', [Math.floor((sizeOf(shape) + 1) / 2)]];
}

/** A tensor to be written: its type, and its bytes as a file holds them. */
export interface Encoded {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/**
 * A header for tensors that lie one after the other in the given order.
 *
 * @returns The first eight bytes and the JSON, filled up to a multiple of 64 bytes.
 */
export function makeHeader(
  tensors: ReadonlyMap<string, Encoded>,
  metadata: Readonly<Record<string, string>>,
): Uint8Array {
  const header: Record<string, unknown> = {};
  const encodings: Record<string, unknown> = {};
  const parts: [string, Record<string, unknown>][] = [];
  let position = 0;
  for (const [key, { dtype, shape, bytes }] of tensors) {
    const [storedDtype, storedShape] = storedForm(elementType(dtype), shape);
    const end = position + bytes.length;
    const item = {
      dtype: storedDtype,
      shape: storedShape ?? [bytes.length],
      data_offsets: [position, end],
    };
    parts.push([key, item]);
    if (storedDtype !== elementType(dtype).safetensors) encodings[key] = { dtype, shape };
    position = end;
  }
  const text: Record<string, string> = { ...metadata };
  if (Object.keys(encodings).length) text[ENCODING_KEY] = JSON.stringify(encodings);
  if (Object.keys(text).length) header['__metadata__'] = text;
  for (const [key, item] of parts) header[key] = item;
  const json = new TextEncoder().encode(JSON.stringify(header));
  const padding = new Uint8Array(63 - ((json.length + 8 + 63) % 64)).fill(0x20);
  const length = new Uint8Array(8);
  view(length).setBigUint64(0, BigInt(json.length + padding.length), true);
  return joined(length, json, padding);
}
