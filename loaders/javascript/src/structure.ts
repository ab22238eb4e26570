/**
 * How the arguments and results of a signature were nested in the program that was traced.
 *
 * A call needs only their names; this is for those who build forms, clients or documents from a
 * bundle. It is read when it is asked for, so it costs nothing otherwise.
 */

import { BY_NUMBER, type TensorSpec } from './dtypes.js';
import { BundleError } from './errors.js';
import { MAX_VALUE_DEPTH } from './limits.js';
import { type Field, fields, WireError } from './wire.js';

/**
 * Plain data with tensors in it. Lists and tuples are arrays, dictionaries and records objects, and
 * what JavaScript has no word for is text.
 */
export type Structure =
  | null
  | boolean
  | number
  | bigint
  | string
  | TensorSpec
  | readonly Structure[]
  | { readonly [name: string]: Structure };

/** The arguments and the result of a function. */
export interface Structures {
  /** Positional arguments, in order. */
  readonly args: readonly Structure[];
  /** Keyword arguments, by name. */
  readonly kwargs: Readonly<Record<string, Structure>>;
  readonly result: Structure;
}

/** What leaves stand for, by number. */
type Leaves = ReadonlyMap<number, TensorSpec>;

/**
 * Read the call trees of a concrete function.
 *
 * @throws BundleError a tree breaks a rule of the format.
 */
export function readStructures(
  args: Uint8Array,
  result: Uint8Array,
  inputs: Leaves,
  outputs: Leaves,
  where: string,
): Structures {
  const refuse = (problem: string): never => {
    throw new BundleError(`${where}: ${problem}; save the bundle again`);
  };
  try {
    const call = value(args, inputs, 0, refuse);
    if (!Array.isArray(call) || call.length !== 2 || !Array.isArray(call[0])) {
      return refuse('its arguments are not a pair of positional and keyword arguments');
    }
    const kwargs = call[1] as Readonly<Record<string, Structure>>;
    const found = {
      args: call[0] as Structure[],
      kwargs,
      result: value(result, outputs, 0, refuse),
    };
    return Object.freeze(found);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return refuse(`its arguments or results cannot be read (${error.message})`);
  }
}

type Refuse = (problem: string) => never;

function value(data: Uint8Array, leaves: Leaves, depth: number, refuse: Refuse): Structure {
  if (depth > MAX_VALUE_DEPTH) refuse(`values are nested more than ${MAX_VALUE_DEPTH} deep`);
  const kind = fields(data).at(-1);
  const item = (field: Field) => value(field.bytes(), leaves, depth + 1, refuse);
  const items = (field: Field) => fields(field.bytes()).filter((f) => f.number === 1);
  switch (kind?.number) {
    case 1:
      return null;
    case 2:
      return kind.number53() !== 0;
    case 3:
      return zigzag(kind.big());
    case 4:
      return /^-?[0-9]{1,9999}$/.test(kind.text()) ? BigInt(kind.text()) : refuse('a bad integer');
    case 5:
      return kind.double();
    case 6:
      return kind.text();
    case 7:
      return String.fromCharCode(...kind.bytes().subarray(0, 1000));
    case 9:
    case 10:
      return items(kind).map(item);
    case 11:
      return table(items(kind).map((entry) => named(entry, item, true)));
    case 12:
      return table(fields(kind.bytes()).flatMap((f) => (f.number === 2 ? [named(f, item)] : [])));
    case 14:
      return BY_NUMBER.get(kind.number53())?.name ?? refuse('a dtype that is none of the format');
    case 16: {
      const leaf = kind.number53();
      return leaves.get(leaf) ?? refuse(`there is no leaf ${leaf}`);
    }
    default:
      return kind ? `a value of kind ${kind.number}` : refuse('a value of no kind');
  }
}

/** Names may be anything, also `__proto__`. */
function table(
  rows: readonly (readonly [string, Structure])[],
): Readonly<Record<string, Structure>> {
  return Object.fromEntries(rows);
}

function named(
  entry: Field,
  item: (field: Field) => Structure,
  isEntry = false,
): readonly [string, Structure] {
  const all = fields(entry.bytes());
  const first = all.find((f) => f.number === 1);
  const second = all.find((f) => f.number === 2);
  const name = first && (isEntry ? item(first) : first.text());
  return [typeof name === 'object' ? 'None' : String(name ?? ''), second ? item(second) : null];
}

function zigzag(bits: bigint): number | bigint {
  const found = bits & 1n ? -((bits + 1n) >> 1n) : bits >> 1n;
  return Number.isSafeInteger(Number(found)) ? Number(found) : found;
}
