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

/** Numbers in arrays as deep as the tensor has dimensions. */
export type Nested = number | bigint | boolean | string | readonly Nested[];

/** What a caller may give for a tensor. */
export type TensorLike =
  | Tensor
  | Nested
  | NumberArray
  | {
      readonly data: Data;
      readonly shape?: readonly number[];
      readonly dims?: readonly number[];
      readonly dtype?: string;
      readonly type?: string;
    };

/**
 * A tensor. Its elements are in `data`, row by row.
 *
 * float16, bfloat16 and float8 are held as their bits, complex numbers as pairs, strings as strings.
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
    const value = this.data[0];
    if (this.data.length !== 1 || value === undefined) {
      throw new InvalidArgumentError(`${String(this)} does not have exactly one element`);
    }
    return this.dtype === 'bool' ? value !== 0 : value;
  }

  /** The elements in arrays as deep as the tensor has dimensions. */
  toArray(): Nested {
    let flat: Nested[] = [...this.data];
    if (this.dtype === 'bool') flat = flat.map((value) => value !== 0);
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
  if (!fits(tensor.shape, wanted.shape)) {
    throw new InvalidArgumentError(
      `${what} is ${describe(tensor.dtype, tensor.shape)}, expected ${specText(wanted)}`,
    );
  }
  return tensor;
}

function specText(wanted: TensorSpec): string {
  return describe(wanted.dtype, wanted.shape);
}

function converted(value: TensorLike, wanted: TensorSpec, what: string): Tensor {
  if (value instanceof Tensor) return sameDType(value, value.dtype, wanted, what);
  if (isNumberArray(value)) return fromData(value, undefined, wanted, what);
  if (isNested(value)) return fromNested(value, wanted, what);
  if (typeof value === 'object' && (value as object | null) !== null && 'data' in value) {
    const named = value.dtype ?? value.type;
    const shape = value.shape ?? value.dims;
    if (named !== undefined && named !== wanted.dtype) throw mismatch(named, shape, wanted, what);
    return fromData(value.data, shape, wanted, what);
  }
  throw new InvalidArgumentError(
    `${what} is ${(value as unknown) === null ? 'null' : typeof value}, expected ${specText(wanted)} as numbers, a typed array or a Tensor`,
  );
}

function sameDType(tensor: Tensor, dtype: string, wanted: TensorSpec, what: string): Tensor {
  if (dtype !== wanted.dtype) throw mismatch(dtype, tensor.shape, wanted, what);
  return tensor;
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

function fromData(
  data: Data,
  shape: readonly number[] | undefined,
  wanted: TensorSpec,
  what: string,
): Tensor {
  const row = elementType(wanted.dtype);
  const good = row.array ? data instanceof row.array : Array.isArray(data);
  if (!good) throw mismatch(data.constructor.name, shape, wanted, what);
  if (row.kind === 'bool' && (data as Uint8Array).some((bit) => bit > 1)) {
    throw new InvalidArgumentError(`${what} has a byte that is neither 0 nor 1, expected bool`);
  }
  const elements = data.length / row.perElement;
  const dims = shape ?? inferred(elements, wanted, what);
  if (sizeOf(dims) !== elements) {
    throw new InvalidArgumentError(
      `${what} has ${elements} elements, which do not make the shape [${dims.join(', ')}]`,
    );
  }
  return new Tensor(wanted.dtype, data, dims);
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
  return new Tensor(
    wanted.dtype,
    fromElements(flat, elementType(wanted.dtype), wanted, what),
    shape,
  );
}

function isList(value: Nested): value is readonly Nested[] {
  return Array.isArray(value);
}

function fromElements(
  flat: readonly Nested[],
  row: ElementType,
  wanted: TensorSpec,
  what: string,
): Data {
  const refuse = (item: Nested): never => {
    const came = typeof item === 'string' ? JSON.stringify(item.slice(0, 40)) : String(item);
    throw new InvalidArgumentError(
      `${what} has the element ${came}, expected ${specText(wanted)}; plain values are converted ` +
        'only where nothing is lost',
    );
  };
  if (row.kind === 'string') {
    return flat.map((item) => (typeof item === 'string' ? item : refuse(item)));
  }
  const { array } = row;
  if (!array || (row.kind === 'bits' && row.name !== 'float16')) {
    throw new DTypeMismatchError(
      `${what} came as plain numbers, expected ${specText(wanted)}, which JavaScript has no numbers ` +
        'for; give a typed array of its bits',
    );
  }
  const target = new array(new ArrayBuffer(flat.length * (row.bits / 8)));
  const put = elementWriter(row, refuse);
  flat.forEach((item, i) => {
    target[i] = put(item);
  });
  return target;
}

function elementWriter(
  row: ElementType,
  refuse: (item: Nested) => never,
): (item: Nested) => number | bigint {
  if (row.kind === 'bool')
    return (item) => (typeof item === 'boolean' ? Number(item) : refuse(item));
  if (row.kind === 'float' || row.kind === 'bits') {
    const toBits = row.name === 'float16' ? float16Bits : (x: number) => x;
    const greatest =
      row.name === 'float16'
        ? 65_519.99
        : row.name === 'float32'
          ? 3.4028235677973366e38
          : Infinity;
    return (item) => {
      if (typeof item !== 'number' && typeof item !== 'bigint') return refuse(item);
      const number = Number(item);
      return Number.isFinite(number) && Math.abs(number) >= greatest
        ? refuse(item)
        : toBits(number);
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

/** The bits of the float16 nearest to a number, ties to even. */
export function float16Bits(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (Number.isNaN(value)) return 0x7e00;
  if (size >= 65_520) return sign | 0x7c00;
  const exponent = Math.max(Math.floor(Math.log2(size)), -14);
  // Units of the last place; a carry runs into the exponent, as it should.
  const units = roundEven(size / 2 ** (exponent - 10));
  if (units < 1024) return sign | units;
  return sign | (((exponent + 15) << 10) + units - 1024);
}

function roundEven(x: number): number {
  const floor = Math.floor(x);
  const rest = x - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
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
  const decoder = new TextDecoder('utf-8', { fatal: true });
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
