/** The element types of a bundle, and what each is in safetensors, in the runtime and in JavaScript. */

/** Names of the element types. */
export type DType =
  | 'float32'
  | 'uint8'
  | 'int8'
  | 'uint16'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'string'
  | 'bool'
  | 'float16'
  | 'float64'
  | 'uint32'
  | 'uint64'
  | 'complex64'
  | 'complex128'
  | 'bfloat16'
  | 'float8_e4m3fn'
  | 'float8_e5m2'
  | 'uint4'
  | 'int4';

/** The arrays that hold numbers. Dtypes that JavaScript does not have are held as their bits. */
export type NumberArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array;

/** What holds the elements of a tensor, row by row. */
export type Data = NumberArray | string[];

interface Constructor {
  new (buffer: ArrayBuffer, offset?: number, length?: number): NumberArray;
  new (copied: NumberArray): NumberArray;
  readonly name: string;
  readonly BYTES_PER_ELEMENT: number;
}

/** What is known of one element type. */
export interface ElementType {
  readonly name: DType;
  /** Its number in the manifest and in ONNX. */
  readonly number: number;
  /** What an element takes in a file. */
  readonly bits: number;
  /** Its name in safetensors; empty: it is stored encoded. */
  readonly safetensors: string;
  /** Whether the runtime's JavaScript interface has tensors of it. */
  readonly runs: boolean;
  /** The array that holds it; strings have none. Several elements a number: `perElement`. */
  readonly array?: Constructor;
  /** Numbers of the array that make one element. */
  readonly perElement: number;
  readonly kind: 'float' | 'int' | 'uint' | 'bool' | 'string' | 'bits';
}

function row(
  name: DType,
  number: number,
  bits: number,
  safetensors: string,
  kind: ElementType['kind'],
  array?: Constructor,
  runs = true,
  perElement = 1,
): ElementType {
  const base = { name, number, bits, safetensors, kind, runs, perElement };
  return array ? { ...base, array } : base;
}

const ROWS: readonly ElementType[] = [
  row('float32', 1, 32, 'F32', 'float', Float32Array),
  row('uint8', 2, 8, 'U8', 'uint', Uint8Array),
  row('int8', 3, 8, 'I8', 'int', Int8Array),
  row('uint16', 4, 16, 'U16', 'uint', Uint16Array),
  row('int16', 5, 16, 'I16', 'int', Int16Array),
  row('int32', 6, 32, 'I32', 'int', Int32Array),
  row('int64', 7, 64, 'I64', 'int', BigInt64Array),
  row('string', 8, 0, '', 'string'),
  row('bool', 9, 8, 'BOOL', 'bool', Uint8Array),
  row('float16', 10, 16, 'F16', 'bits', Uint16Array),
  row('float64', 11, 64, 'F64', 'float', Float64Array),
  row('uint32', 12, 32, 'U32', 'uint', Uint32Array),
  row('uint64', 13, 64, 'U64', 'uint', BigUint64Array),
  row('complex64', 14, 64, 'C64', 'bits', Float32Array, false, 2),
  row('complex128', 15, 128, '', 'bits', Float64Array, false, 2),
  row('bfloat16', 16, 16, 'BF16', 'bits', Uint16Array, false),
  row('float8_e4m3fn', 17, 8, 'F8_E4M3', 'bits', Uint8Array, false),
  row('float8_e5m2', 19, 8, 'F8_E5M2', 'bits', Uint8Array, false),
  row('uint4', 21, 4, '', 'uint', Uint8Array, false),
  row('int4', 22, 4, '', 'int', Int8Array, false),
];

export const BY_NUMBER: ReadonlyMap<number, ElementType> = new Map(ROWS.map((r) => [r.number, r]));
export const BY_NAME: ReadonlyMap<string, ElementType> = new Map(ROWS.map((r) => [r.name, r]));
export const BY_SAFETENSORS: ReadonlyMap<string, ElementType> = new Map(
  ROWS.filter((r) => r.safetensors).map((r) => [r.safetensors, r]),
);

/** The row of a dtype. */
export function elementType(name: DType): ElementType {
  const found = BY_NAME.get(name);
  if (!found) throw new TypeError(`${name} is no dtype`);
  return found;
}

/** A dimension: a size, a name, or null (unknown). */
export type Dim = number | string | null;
/** A shape; null: unknown rank. */
export type Shape = readonly Dim[] | null;

/** What a tensor must be. */
export interface TensorSpec {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: Shape;
}

/** A dtype with a shape, as `float32[n, 28, 28]`. */
export function describe(dtype: string, shape: Shape): string {
  if (shape === null) return `${dtype}[...]`;
  return `${dtype}[${shape.map((d) => (d === null || isAutomatic(d) ? 'None' : d)).join(', ')}]`;
}

/** Whether a dimension's name was made by the writer: nobody chose it, so nobody is shown it. */
export function isAutomatic(dim: Dim): boolean {
  return typeof dim === 'string' && dim.includes('.');
}

/** Number of elements. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((a, b) => a * b, 1);
}

/** Whether a value of this shape is one of the wanted. */
export function fits(shape: readonly number[], wanted: Shape): boolean {
  return (
    wanted === null ||
    (shape.length === wanted.length &&
      shape.every((size, i) => typeof wanted[i] !== 'number' || wanted[i] === size))
  );
}

/** Whether a tensor could have both shapes. */
export function compatible(a: Shape, b: Shape): boolean {
  if (a === null || b === null) return true;
  return (
    a.length === b.length &&
    a.every((d, i) => typeof d !== 'number' || typeof b[i] !== 'number' || d === b[i])
  );
}
