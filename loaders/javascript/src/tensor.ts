/** Tensors: what callers give and get, and the bytes that files hold. */

import {
  type Data,
  describe,
  type DType,
  type ElementType,
  elementType,
  fits,
  type NumberArray,
  sizeOf,
  type TensorSpec,
} from './dtypes.js';
import { BundleError, DTypeMismatchError, InvalidArgumentError } from './errors.js';
import { formatOf } from './halves.js';
import { MAX_RANK } from './limits.js';

/** Numbers in arrays as deep as the tensor has dimensions. */
export type Nested = number | bigint | boolean | string | readonly Nested[];

/** What a caller may give for a tensor. */
export type TensorLike =
  | Tensor
  | Nested
  | NumberArray
  | readonly NumberArray[]
  | {
      readonly data: Data | readonly (number | bigint | boolean)[];
      readonly shape?: readonly number[];
      readonly dims?: readonly number[];
      readonly dtype?: string;
      readonly type?: string;
    };

/**
 * A tensor. Its elements are in `data`, row by row.
 *
 * In `data` float16, bfloat16 and float8 are their bits, and complex numbers pairs; `item` and
 * `toArray` give numbers.
 *
 * @example
 * const t = new Tensor('float32', Float32Array.of(1, 2, 3, 4), [2, 2]);
 * t.toArray(); // [[1, 2], [3, 4]]
 */
export class Tensor {
  constructor(
    readonly dtype: DType,
    readonly data: Data,
    readonly shape: readonly number[],
  ) {
    checkShape(shape, 'the tensor');
    const expected = sizeOf(shape) * elementType(dtype).perElement;
    if (data.length !== expected) {
      throw new InvalidArgumentError(
        `${describe(dtype, shape)} has ${expected} numbers, ${data.length} were given`,
      );
    }
  }

  /** A tensor with memory of its own. */
  copy(): Tensor {
    const { data, dtype, shape } = this;
    const { array } = elementType(dtype);
    if (Array.isArray(data) || !array) return new Tensor(dtype, [...(data as string[])], shape);
    const own = new array(new ArrayBuffer(data.byteLength));
    own.set(data as never);
    return new Tensor(dtype, own, shape);
  }

  /** The only element of a tensor that has one, as a number, bigint, boolean or string. */
  item(): number | bigint | boolean | string {
    if (this.data.length !== 1) {
      throw new InvalidArgumentError(
        `${String(this)} does not have exactly one element; use toArray() or data`,
      );
    }
    return this.elements()[0] as number;
  }

  /** The elements in arrays as deep as the tensor has dimensions. */
  toArray(): Nested {
    let flat = this.elements();
    const shape = [...this.shape];
    if (elementType(this.dtype).perElement > 1) shape.push(2);
    for (let axis = shape.length - 1; axis > 0; axis--) {
      const size = shape[axis] as number;
      const count = sizeOf(shape.slice(0, axis));
      const inner = flat;
      flat = Array.from({ length: count }, (_, i) => inner.slice(i * size, (i + 1) * size));
    }
    return shape.length ? flat : (flat[0] as Nested);
  }

  private elements(): Nested[] {
    const flat: Nested[] = [...this.data];
    if (this.dtype === 'bool') return flat.map((value) => value !== 0);
    const format = formatOf(this.dtype);
    return format ? flat.map((bits) => format.toNumber(bits as number)) : flat;
  }

  toString(): string {
    return `Tensor ${describe(this.dtype, this.shape)}`;
  }
}

/**
 * Convert what a caller gave, and check it.
 *
 * Plain numbers take the wanted dtype if nothing is lost; a typed array has a dtype, and it must be
 * the wanted one. A typed array without a shape takes the wanted shape if at most one size is open.
 *
 * @param what The argument, for messages.
 * @throws DTypeMismatchError an array of another dtype.
 * @throws InvalidArgumentError another shape, or values that do not fit.
 */
export function toTensor(value: TensorLike, wanted: TensorSpec, what: string): Tensor {
  const tensor = converted(value, wanted, what);
  checkFit(tensor, wanted, what);
  return tensor;
}

/** Refuse a tensor of another dtype or shape. */
export function checkFit({ dtype, shape }: Tensor, wanted: TensorSpec, what: string): void {
  if (dtype !== wanted.dtype) throw mismatch(dtype, shape, wanted, what);
  if (fits(shape, wanted.shape)) return;
  throw new InvalidArgumentError(
    `${what} is ${describe(dtype, shape)}, expected ${specText(wanted)}`,
  );
}

function specText(wanted: TensorSpec): string {
  return describe(wanted.dtype, wanted.shape);
}

function converted(value: TensorLike, wanted: TensorSpec, what: string): Tensor {
  if (isNumberArray(value)) return fromData(value, undefined, wanted, what);
  if (isNested(value)) return fromNested(value, wanted, what);
  if (typeof value === 'object' && (value as object | null) !== null && 'data' in value) {
    const { location = 'cpu' } = value as { location?: unknown };
    if (location !== 'cpu' && location !== 'cpu-pinned') {
      throw new InvalidArgumentError(
        `${what} is a tensor on ${String(location)}, expected one in memory; await its getData() first`,
      );
    }
    const { dims, type } = value as { dims?: readonly number[]; type?: string };
    const named = value.dtype ?? type;
    const shape = value.shape ?? dims;
    if (named !== undefined && named !== wanted.dtype) throw mismatch(named, shape, wanted, what);
    return fromData(value.data, shape, wanted, what);
  }
  const came = (value as unknown) === null ? 'null' : typeof value;
  throw new InvalidArgumentError(
    `${what} is ${came === 'object' ? 'an object without data' : came}, expected ` +
      `${specText(wanted)} as numbers, a typed array or a Tensor`,
  );
}

function mismatch(
  dtype: string,
  shape: readonly number[] | undefined,
  wanted: TensorSpec,
  what: string,
): DTypeMismatchError {
  return new DTypeMismatchError(
    `${what} is ${shape ? describe(dtype, shape) : dtype}, expected ${specText(wanted)}; give a ` +
      'typed array of that dtype, or plain numbers',
  );
}

function isNumberArray(value: unknown): value is NumberArray {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

function isNested(value: unknown): value is Nested {
  return Array.isArray(value) || ['number', 'bigint', 'boolean', 'string'].includes(typeof value);
}

function checkShape(shape: readonly number[], what: string): void {
  if (Array.isArray(shape) && shape.every((dim) => Number.isSafeInteger(dim) && dim >= 0)) return;
  throw new InvalidArgumentError(
    `${what} has the shape ${JSON.stringify(shape)}, expected an array of sizes`,
  );
}

function fromData(
  data: Data | readonly unknown[],
  shape: readonly number[] | undefined,
  wanted: TensorSpec,
  what: string,
): Tensor {
  const row = elementType(wanted.dtype);
  const own = Array.isArray(data)
    ? fromElements(data as Nested[], row, wanted, what)
    : ownArray(data, row);
  if (!own) throw mismatch(className(data), shape, wanted, what);
  if (row.kind === 'bool' && (own as Uint8Array).some((bit) => bit > 1)) {
    throw new InvalidArgumentError(`${what} has a byte that is neither 0 nor 1, expected bool`);
  }
  if (row.bits === 4) Array.from(own as Uint8Array, elementWriter(row, refusal(wanted, what)));
  if (shape) checkShape(shape, what);
  const elements = own.length / row.perElement;
  const dims = shape ?? inferred(elements, wanted, what);
  if (sizeOf(dims) !== elements) {
    throw new InvalidArgumentError(
      `${what} has ${elements} elements, which do not make the shape [${dims.join(', ')}]`,
    );
  }
  return new Tensor(wanted.dtype, own, [...dims]);
}

/** Arrays that hold the bits of a dtype, beside the usual one. */
const ALSO: Readonly<Record<string, string | undefined>> = {
  Float16Array: 'float16',
  Uint8ClampedArray: 'uint8',
};

/**
 * A copy of a typed array, or null if it is not one of the dtype.
 *
 * A copy, because its caller may use the array again at once, and nobody reads it before that: a call
 * may have to wait for its turn, onnxruntime-node begins in a later task, and onnxruntime-web reads
 * inputs one after the other, or sends them to a worker, which takes the memory. By the name of the class, because arrays of other realms (frames, test runners) have
 * classes of their own.
 */
function ownArray(data: unknown, { array, name }: ElementType): NumberArray | null {
  if (!array || !isNumberArray(data)) return null;
  if (data instanceof array) return new array(data);
  const kind = data[Symbol.toStringTag] as string;
  if (kind !== array.name && ALSO[kind] !== name) return null;
  return new array(new array(data.buffer as ArrayBuffer, data.byteOffset, data.length));
}

function className(value: unknown): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** The shape of a typed array that came without one. */
function inferred(elements: number, wanted: TensorSpec, what: string): number[] {
  const open = wanted.shape?.filter((dim) => typeof dim !== 'number').length ?? 2;
  const known = wanted.shape?.reduce<number>((n, d) => (typeof d === 'number' ? n * d : n), 1) ?? 0;
  if (wanted.shape === null || open > 1 || (open === 1 && (!known || elements % known))) {
    throw new InvalidArgumentError(
      `${what} came as ${elements} numbers without a shape, expected ${specText(wanted)}; give ` +
        '{data, shape}',
    );
  }
  return wanted.shape.map((dim) => (typeof dim === 'number' ? dim : elements / known));
}

function fromNested(value: Nested, wanted: TensorSpec, what: string): Tensor {
  const shape: number[] = [];
  for (let part = value; isList(part); part = part[0] as Nested) {
    shape.push(part.length);
    if (shape.length > MAX_RANK) {
      throw new InvalidArgumentError(
        `${what}: arrays are nested more than ${MAX_RANK} deep, expected ${specText(wanted)}`,
      );
    }
    if (!part.length) break;
  }
  const flat: Nested[] = [];
  const collect = (part: Nested, axis: number): void => {
    const list = isList(part);
    if (list !== axis < shape.length || (list && part.length !== shape[axis])) {
      throw new InvalidArgumentError(
        `${what}: arrays beside each other have different lengths or depths, expected ${specText(wanted)}`,
      );
    }
    if (list) for (const item of part) collect(item, axis + 1);
    else flat.push(part);
  };
  collect(value, 0);
  // An empty array says nothing of the sizes behind it.
  if (shape.at(-1) === 0 && wanted.shape && shape.length < wanted.shape.length) {
    shape.push(...wanted.shape.slice(shape.length).map((d) => (typeof d === 'number' ? d : 0)));
  }
  const row = elementType(wanted.dtype);
  return new Tensor(wanted.dtype, fromElements(flat, row, wanted, what), shape);
}

function isList(value: unknown): value is readonly Nested[] {
  return Array.isArray(value) || isNumberArray(value);
}

type Refuse = (item: Nested) => never;

function refusal(wanted: TensorSpec, what: string): Refuse {
  return (item) => {
    const came =
      typeof item === 'string'
        ? JSON.stringify(item.slice(0, 40))
        : typeof item === 'object'
          ? className(item)
          : String(item);
    throw new InvalidArgumentError(
      `${what} has the element ${came}, expected ${specText(wanted)}; plain values are converted ` +
        'only where nothing is lost',
    );
  };
}

function fromElements(
  flat: readonly Nested[],
  row: ElementType,
  wanted: TensorSpec,
  what: string,
): Data {
  const refuse = refusal(wanted, what);
  if (row.kind === 'string') {
    return Array.from(flat, (item) => (typeof item === 'string' ? item : refuse(item)));
  }
  const { array } = row;
  if (!array || row.perElement > 1) {
    throw new DTypeMismatchError(
      `${what} came as plain numbers, expected ${specText(wanted)}, which JavaScript has no numbers ` +
        'for; give a typed array of pairs',
    );
  }
  const target = new array(new ArrayBuffer(flat.length * array.BYTES_PER_ELEMENT));
  const put = elementWriter(row, refuse);
  for (let i = 0; i < flat.length; i++) target[i] = put(flat[i] as Nested);
  return target;
}

function elementWriter(row: ElementType, refuse: Refuse): (item: Nested) => number | bigint {
  if (row.kind === 'bool')
    return (item) => (typeof item === 'boolean' ? Number(item) : refuse(item));
  if (row.kind === 'float' || row.kind === 'bits') {
    const format = formatOf(row.name);
    const limit = format?.limit ?? (row.name === 'float32' ? 3.4028235677973366e38 : Infinity);
    return (item) => {
      if (typeof item !== 'number' && typeof item !== 'bigint') return refuse(item);
      const number = Number(item);
      // An infinity must have been meant, and is nothing that a number becomes.
      const isMeant = typeof item === 'number' && Math.abs(number) === Infinity;
      if (Math.abs(number) >= limit && !(isMeant && row.name !== 'float8_e4m3fn')) {
        return refuse(item);
      }
      return format ? format.toBits(number) : number;
    };
  }
  const signed = row.kind === 'int';
  const high = 2n ** BigInt(signed ? row.bits - 1 : row.bits) - 1n;
  const low = signed ? -high - 1n : 0n;
  return (item) => {
    if (typeof item !== 'bigint' && !Number.isInteger(item)) return refuse(item);
    const number = BigInt(item as number | bigint);
    if (number < low || number > high) return refuse(item);
    return row.bits === 64 ? number : Number(number);
  };
}

/** Elements from the bytes of a file; they are copied, since files need not be aligned. */
export function decode(
  bytes: Uint8Array,
  dtype: DType,
  shape: readonly number[],
  where: string,
): Tensor {
  const row = elementType(dtype);
  const count = sizeOf(shape);
  const refuse = (problem: string) =>
    new BundleError(`${where}: ${problem}; the file is damaged: copy or save it again`);
  if (row.kind === 'string') return new Tensor(dtype, strings(bytes, count, refuse), shape);
  if (bytes.length !== Math.ceil((count * row.bits) / 8)) {
    throw refuse(`${bytes.length} bytes do not make ${describe(dtype, shape)}`);
  }
  if (row.bits === 4) return new Tensor(dtype, nibbles(bytes, row, count), shape);
  if (row.kind === 'bool' && bytes.some((bit) => bit > 1)) {
    throw refuse('a bool has a byte that is neither 0 nor 1');
  }
  const array = row.array as NonNullable<typeof row.array>;
  const copy = new Uint8Array(bytes); // a Buffer's slice() would share its memory
  return new Tensor(dtype, new array(copy.buffer, 0, count * row.perElement), shape);
}

function nibbles(bytes: Uint8Array, row: ElementType, count: number): NumberArray {
  const all = Array.from({ length: count }, (_, i) => {
    const half = ((bytes[i >> 1] ?? 0) >> (i % 2 ? 4 : 0)) & 15;
    return row.name === 'int4' && half > 7 ? half - 16 : half;
  });
  return row.name === 'int4' ? Int8Array.from(all) : Uint8Array.from(all);
}

function strings(
  bytes: Uint8Array,
  count: number,
  refuse: (problem: string) => BundleError,
): string[] {
  const head = 8 * (count + 1);
  if (bytes.length < head) throw refuse(`${bytes.length} bytes, expected at least ${head}`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const at = Array.from({ length: count + 1 }, (_, i) => Number(view.getBigUint64(8 * i, true)));
  const ordered = at.every((end, i) => i === 0 || end >= (at[i - 1] as number));
  if (at[0] !== 0 || at[count] !== bytes.length - head || !ordered) {
    throw refuse('the offsets of its strings do not divide its bytes');
  }
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return at.slice(1).map((end, i) => {
    try {
      return decoder.decode(bytes.subarray(head + (at[i] as number), head + end));
    } catch {
      throw refuse('a string is not UTF-8, and JavaScript has no other text');
    }
  });
}

/** The bytes that a file holds of a tensor; they share memory with it where they can. */
export function encode(tensor: Tensor): Uint8Array {
  const { data, dtype } = tensor;
  if (!isNumberArray(data)) {
    const texts = data.map((text) => new TextEncoder().encode(text));
    const head = 8 * (texts.length + 1);
    const bytes = new Uint8Array(head + texts.reduce((n, t) => n + t.length, 0));
    const view = new DataView(bytes.buffer);
    let end = 0;
    texts.forEach((text, i) => {
      bytes.set(text, head + end);
      end += text.length;
      view.setBigUint64(8 * (i + 1), BigInt(end), true);
    });
    return bytes;
  }
  if (elementType(dtype).bits !== 4) {
    return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  }
  const packed = new Uint8Array(Math.ceil(data.length / 2));
  data.forEach((value: number | bigint, i: number) => {
    packed[i >> 1] = (packed[i >> 1] ?? 0) | ((Number(value) & 15) << (i % 2 ? 4 : 0));
  });
  return packed;
}
