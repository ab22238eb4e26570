/**
 * The manifest of a bundle: the part that running signatures needs, read and checked.
 *
 * Nothing behind this module meets an id out of range, a name that comes twice or a file that is
 * not listed. Objects, call trees and functions are for languages that rebuild Python objects; they
 * are left alone, and copied when a bundle is saved again.
 */

import { pieceCount } from './checksums.js';
import {
  BY_NUMBER,
  compatible,
  type Dim,
  type DType,
  elementType,
  type Shape,
  sizeOf,
  type TensorSpec,
} from './dtypes.js';
import { BundleError, reason, UnsupportedVersionError } from './errors.js';
import * as limits from './limits.js';
import { characters, checkPath } from './paths.js';
import { type Field, fields, WireError } from './wire.js';

export interface FileEntry {
  readonly path: string;
  readonly size: number;
  readonly sha256: Uint8Array;
  /** The CRC-32 of each piece of the file; empty: not said. */
  readonly crc32: readonly number[];
}

/** Where the bytes of a tensor are: a tensor of a safetensors file. */
export interface Storage {
  readonly file: string;
  readonly key: string;
}

export interface VariableEntry {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: Shape;
  readonly trainable: boolean;
  readonly storage: Storage;
}

export interface ConstantEntry {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly inline?: Uint8Array;
  readonly storage?: Storage;
}

/** An input or output of a graph, and what it is bound to. */
export interface Port extends TensorSpec {
  readonly source: 'argument' | 'variable' | 'constant' | 'result';
  readonly index: number;
}

export interface FrozenVariable {
  readonly name: string;
  readonly variable: number;
}

export interface GraphEntry {
  readonly file: string;
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  readonly frozen: readonly FrozenVariable[];
}

export interface ConcreteFunctionEntry {
  readonly name: string;
  /** The call trees, as they are in the manifest. */
  readonly args: Uint8Array;
  readonly result: Uint8Array;
  readonly argumentLeaves: readonly TensorSpec[];
  readonly resultLeaves: readonly TensorSpec[];
  readonly graph: GraphEntry;
  readonly liveGraph?: GraphEntry;
  /** The form for differentiation, which is only copied. */
  readonly gradientFile?: string;
}

export interface SignatureEntry {
  readonly name: string;
  readonly concreteFunction: number;
  readonly inputs: readonly { readonly name: string; readonly leaf: number }[];
  readonly outputs: readonly { readonly name: string; readonly leaf: number }[];
}

export interface Manifest {
  readonly producer: string;
  readonly producerVersion: string;
  readonly opset: number;
  readonly irVersion: number;
  readonly files: readonly FileEntry[];
  readonly variables: readonly VariableEntry[];
  readonly constants: readonly ConstantEntry[];
  readonly concreteFunctions: readonly ConcreteFunctionEntry[];
  readonly signatures: readonly SignatureEntry[];
  /** The bytes that were read. */
  readonly data: Uint8Array;
}

/** The graph files of a bundle. */
export function graphFiles({ concreteFunctions }: Manifest): Set<string> {
  return new Set(
    concreteFunctions.flatMap(({ graph, liveGraph, gradientFile }) =>
      [graph.file, liveGraph?.file, gradientFile].filter((file) => file !== undefined),
    ),
  );
}

/** The last field, `sha256`, as the bytes before its content. */
export const DIGEST_PREFIX = Uint8Array.of(0xa2, 0x01, 0x20);
const TRAILER = DIGEST_PREFIX.length + 32;
const FEATURES: ReadonlySet<string> = new Set();

/** Computes the SHA-256 of parts that follow one another. */
export type Sha256 = (...parts: readonly Uint8Array[]) => Promise<Uint8Array>;

/**
 * Turn the bytes of a `bundle.pb` into a checked manifest.
 *
 * @throws UnsupportedVersionError a newer format, or a required feature that is not known.
 * @throws BundleError the bytes are no manifest, or are damaged, or break a rule.
 */
export async function parseManifest(
  data: Uint8Array,
  where: string,
  sha256: Sha256,
): Promise<Manifest> {
  const refuse = (problem: string) =>
    new BundleError(`${where}: ${problem}; the file is damaged: save the bundle again`);
  let top: Field[];
  try {
    top = fields(data);
    checkVersion(last(top, 1)?.number53() ?? 0, where);
  } catch (error) {
    if (error instanceof WireError) throw refuse(`not a bundle manifest (${error.message})`);
    throw error;
  }
  await checkDigest(data, sha256, refuse);
  try {
    const manifest = new Reader(where).manifest(top, data);
    return manifest;
  } catch (error) {
    if (error instanceof WireError) throw refuse(`not a bundle manifest (${reason(error)})`);
    throw error;
  }
}

function checkVersion(version: number, where: string): void {
  if (version > limits.FORMAT_VERSION) {
    throw new UnsupportedVersionError(
      `${where}: the bundle has format version ${version}, this program reads up to ` +
        `${limits.FORMAT_VERSION}; upgrade tfx-onnx`,
    );
  }
  if (version < 1) {
    throw new BundleError(`${where}: no format version; it is not the manifest of a bundle`);
  }
}

async function checkDigest(
  data: Uint8Array,
  sha256: Sha256,
  refuse: (problem: string) => BundleError,
): Promise<void> {
  const trailer = data.subarray(Math.max(0, data.length - TRAILER));
  const digest = await sha256(data.subarray(0, data.length - trailer.length));
  const marked = trailer.length === TRAILER && DIGEST_PREFIX.every((b, i) => trailer[i] === b);
  if (!marked || !digest.every((b, i) => b === trailer[i + DIGEST_PREFIX.length])) {
    throw refuse('the SHA-256 at its end does not match, it is truncated or was changed');
  }
}

function last(all: readonly Field[], number: number): Field | undefined {
  return all.filter((f) => f.number === number).at(-1);
}

/** Reads messages; every method takes a message's fields and where it is, for errors. */
class Reader {
  private files = new Set<string>();
  private variables: VariableEntry[] = [];
  private constants: ConstantEntry[] = [];

  constructor(private readonly where: string) {}

  manifest(top: readonly Field[], data: Uint8Array): Manifest {
    const many = (number: number) => top.filter((f) => f.number === number);
    const requirements = this.merged(top, 4);
    this.checkFeatures(requirements);
    const files = many(5).map((f) => this.file(fields(f.bytes())));
    this.checkFiles(files);
    this.variables = many(6).map((f) => this.variable(fields(f.bytes())));
    this.unique(this.variables, 'variable');
    this.constants = many(7).map((f) => this.constant(fields(f.bytes())));
    this.unique(this.constants, 'constant');
    for (const f of many(8)) this.listed(this.text(fields(f.bytes()), 1), 'an asset');
    const concreteFunctions = many(12).map((f) => this.concrete(fields(f.bytes())));
    const signatures = many(13).map((f) => this.signature(fields(f.bytes()), concreteFunctions));
    this.unique(signatures, 'signature');
    return {
      producer: this.text(top, 2),
      producerVersion: this.text(top, 3),
      opset: this.number(requirements, 1),
      irVersion: this.number(requirements, 2),
      files,
      variables: this.variables,
      constants: this.constants,
      concreteFunctions,
      signatures,
      data,
    };
  }

  private fail(at: string, problem: string): never {
    throw new BundleError(`${this.where}: ${at}: ${problem}; save the bundle again`);
  }

  private text(all: readonly Field[], number: number): string {
    return last(all, number)?.text() ?? '';
  }

  private number(all: readonly Field[], number: number): number {
    return last(all, number)?.number53() ?? 0;
  }

  /** The fields of a sub-message; protobuf merges those that come several times. */
  private merged(all: readonly Field[], number: number): Field[] {
    return all.filter((f) => f.number === number).flatMap((f) => fields(f.bytes()));
  }

  private name(all: readonly Field[], number: number, what: string): string {
    const name = this.text(all, number);
    if (!name || characters(name) > limits.MAX_NAME_LENGTH) {
      this.fail(what, `its name has ${characters(name)} characters, expected 1 to 65536`);
    }
    return name;
  }

  private unique(items: readonly { readonly name: string }[], what: string): void {
    const seen = new Set<string>();
    for (const { name } of items) {
      if (seen.has(name))
        this.fail(`${what} ${JSON.stringify(name)}`, 'there are two of this name');
      seen.add(name);
    }
  }

  private id(index: number, count: number, at: string, what: string): number {
    if (index >= count) this.fail(at, `${what} is ${index}, but the bundle has ${count} of them`);
    return index;
  }

  private checkFeatures(requirements: readonly Field[]): void {
    const unknown = requirements
      .filter((f) => f.number === 4)
      .map((f) => f.text())
      .filter((f) => !FEATURES.has(f));
    if (unknown.length) {
      throw new UnsupportedVersionError(
        `${this.where}: the bundle needs ${unknown.map((f) => JSON.stringify(f)).join(', ')}, ` +
          'which this version does not know; upgrade tfx-onnx',
      );
    }
  }

  private file(all: readonly Field[]): FileEntry {
    const path = this.text(all, 1);
    checkPath(path, this.where);
    const sha256 = last(all, 3)?.bytes() ?? new Uint8Array();
    if (sha256.length !== 32) {
      this.fail(`file ${JSON.stringify(path)}`, `its SHA-256 has ${sha256.length} bytes, not 32`);
    }
    const size = this.number(all, 2);
    const crc32 = all.filter((f) => f.number === 4).flatMap((f) => f.fixed32s());
    if (crc32.length && crc32.length !== pieceCount(size)) {
      this.fail(
        `file ${JSON.stringify(path)}`,
        `it has ${crc32.length} sums of pieces, expected ${pieceCount(size)} of ${size} bytes`,
      );
    }
    return { path, size, sha256, crc32 };
  }

  private checkFiles(files: readonly FileEntry[]): void {
    const folded = new Set(['bundle.pb']);
    const folders = new Set<string>();
    for (const { path } of files) {
      const at = `file ${JSON.stringify(path)}`;
      const lower = path.toLowerCase();
      if (folded.has(lower))
        this.fail(at, 'listed twice, or differs in case only, or the manifest');
      folded.add(lower);
      const parts = path.split('/');
      parts.slice(1).forEach((_, i) => folders.add(parts.slice(0, i + 1).join('/')));
    }
    for (const { path } of files) {
      if (folders.has(path)) this.fail(`file ${JSON.stringify(path)}`, 'is a folder of another');
    }
    this.files = new Set(files.map((f) => f.path));
  }

  private listed(path: string, at: string): string {
    if (!this.files.has(path)) this.fail(at, `uses ${JSON.stringify(path)}, which is not listed`);
    return path;
  }

  private dtype(all: readonly Field[], number: number, at: string): DType {
    const code = this.number(all, number);
    const found = BY_NUMBER.get(code);
    if (!found) this.fail(at, `its dtype is number ${code}, which is none of the format`);
    return found.name;
  }

  private shape(all: readonly Field[], number: number, at: string): Shape {
    const shape = this.merged(all, number);
    if (this.number(shape, 1)) return null;
    const dims = shape.filter((f) => f.number === 2).map((f) => this.dim(fields(f.bytes())));
    const sizes = dims.filter((d): d is number => typeof d === 'number' && d > 0);
    if (dims.length > limits.MAX_RANK || sizeOf(sizes) > limits.MAX_SIZE) {
      this.fail(at, `shape [${dims.slice(0, 9).join(', ')}] is beyond what tensors can have`);
    }
    return dims;
  }

  private dim(all: readonly Field[]): Dim {
    const field = all.at(-1);
    if (field?.number === 1) return field.number53();
    return field?.number === 2 ? field.text() || null : null;
  }

  private spec(all: readonly Field[], at: string): TensorSpec {
    return {
      dtype: this.dtype(all, 1, at),
      shape: this.shape(all, 2, at),
      name: this.text(all, 3),
    };
  }

  private storage(all: readonly Field[], at: string): Storage {
    return { file: this.listed(this.text(all, 1), at), key: this.name(all, 2, `${at}, its key`) };
  }

  private variable(all: readonly Field[]): VariableEntry {
    const name = this.name(all, 1, 'a variable');
    const at = `variable ${JSON.stringify(name)}`;
    return {
      name,
      dtype: this.dtype(all, 2, at),
      shape: this.shape(all, 3, at),
      trainable: this.number(all, 4) !== 0,
      storage: this.storage(this.merged(all, 5), at),
    };
  }

  private constant(all: readonly Field[]): ConstantEntry {
    const name = this.name(all, 1, 'a constant');
    const at = `constant ${JSON.stringify(name)}`;
    const shape = this.shape(all, 3, at);
    if (!shape?.every((d) => typeof d === 'number'))
      this.fail(at, 'its shape is not fully defined');
    const base = { name, dtype: this.dtype(all, 2, at), shape };
    const data = all.filter((f) => f.number === 4 || f.number === 5).at(-1);
    if (!data) this.fail(at, 'it has no data');
    if (data.number === 5) return { ...base, storage: this.storage(this.merged(all, 5), at) };
    const inline = data.bytes();
    const bits = elementType(base.dtype).bits;
    const expected = Math.ceil((sizeOf(shape) * bits) / 8);
    if (inline.length > limits.MAX_INLINE_CONSTANT_BYTES || (bits && inline.length !== expected)) {
      this.fail(at, `it has ${inline.length} bytes, expected ${expected}`);
    }
    return { ...base, inline };
  }

  private concrete(all: readonly Field[]): ConcreteFunctionEntry {
    const name = this.name(all, 1, 'a concrete function');
    const at = `concrete function ${JSON.stringify(name)}`;
    const specs = (number: number) =>
      all.filter((f) => f.number === number).map((f) => this.spec(fields(f.bytes()), at));
    const gradient = this.text(this.merged(all, 8), 1);
    const base = {
      name,
      args: last(all, 2)?.bytes() ?? new Uint8Array(),
      result: last(all, 3)?.bytes() ?? new Uint8Array(),
      argumentLeaves: specs(4),
      resultLeaves: specs(5),
      ...(gradient ? { gradientFile: this.listed(gradient, at) } : {}),
    };
    const graph = this.graph(this.merged(all, 6), base, at);
    if (!last(all, 7)) return { ...base, graph };
    const liveGraph = this.graph(this.merged(all, 7), base, at);
    const written = (g: GraphEntry) =>
      g.outputs.flatMap((o) => (o.source === 'variable' ? [o.index] : [])).sort((a, b) => a - b);
    if (liveGraph.frozen.length || String(written(graph)) !== String(written(liveGraph))) {
      this.fail(at, 'its live graph freezes variables, or writes others than its graph');
    }
    return { ...base, graph, liveGraph };
  }

  private graph(
    all: readonly Field[],
    concrete: Pick<ConcreteFunctionEntry, 'argumentLeaves' | 'resultLeaves'>,
    at: string,
  ): GraphEntry {
    const file = this.listed(this.text(all, 1), at);
    const here = `${at}, graph ${JSON.stringify(file)}`;
    const { variables, constants } = this;
    const read = (number: number, kinds: Kinds) =>
      all.filter((f) => f.number === number).map((f) => this.port(fields(f.bytes()), kinds, here));
    const inputs = read(2, {
      4: ['argument', concrete.argumentLeaves],
      5: ['variable', variables],
      6: ['constant', constants],
    });
    const outputs = read(3, { 4: ['result', concrete.resultLeaves], 5: ['variable', variables] });
    const frozen = all
      .filter((f) => f.number === 4)
      .map((f) => this.frozen(fields(f.bytes()), here));
    this.unique([...inputs, ...frozen], `${here}, input`);
    this.unique(outputs, `${here}, output`);
    const keys = (ports: readonly Port[]) => ports.map((p) => `${p.source} ${p.index}`);
    const bound = [...keys(inputs), ...frozen.map((f) => `variable ${f.variable}`)];
    const given = keys(outputs);
    const results = outputs.filter((o) => o.source === 'result').length;
    if (new Set(bound).size !== bound.length || new Set(given).size !== given.length) {
      this.fail(here, 'it binds something twice');
    }
    if (results !== concrete.resultLeaves.length) this.fail(here, 'it does not give all results');
    if (frozen.some((f) => given.includes(`variable ${f.variable}`))) {
      this.fail(here, 'it freezes a variable that it writes');
    }
    return { file, inputs, outputs, frozen };
  }

  private port(all: readonly Field[], kinds: Kinds, at: string): Port {
    const name = this.name(all, 1, `${at}, an input or output`);
    const here = `${at}, ${JSON.stringify(name)}`;
    const bound = all.filter((f) => f.number in kinds).at(-1);
    if (!bound) this.fail(here, 'it is bound to nothing');
    const [source, targets] = kinds[bound.number] as Kinds[number];
    const index = this.id(bound.number53(), targets.length, here, `the ${source}`);
    const dtype = this.dtype(all, 2, here);
    const shape = this.shape(all, 3, here);
    const target = targets[index] as { dtype: DType; shape: Shape };
    if (target.dtype !== dtype || !compatible(target.shape, shape)) {
      this.fail(here, `it is ${dtype}, but its ${source} is ${target.dtype}, or of another shape`);
    }
    return { name, dtype, shape, source, index };
  }

  private frozen(all: readonly Field[], at: string): FrozenVariable {
    const name = this.name(all, 1, `${at}, an initializer`);
    const variable = this.id(this.number(all, 2), this.variables.length, at, 'the variable');
    return { name, variable };
  }

  private signature(
    all: readonly Field[],
    concretes: readonly ConcreteFunctionEntry[],
  ): SignatureEntry {
    const name = this.name(all, 1, 'a signature');
    const at = `signature ${JSON.stringify(name)}`;
    const index = this.id(this.number(all, 2), concretes.length, at, 'the concrete function');
    const concrete = concretes[index] as ConcreteFunctionEntry;
    const tensors = (number: number, count: number, what: string) => {
      const found = all
        .filter((f) => f.number === number)
        .map((f) => fields(f.bytes()))
        .map((f) => ({
          name: this.name(f, 1, `${at}, an ${what}`),
          leaf: this.id(this.number(f, 2), count, at, `the leaf of an ${what}`),
        }));
      this.unique(found, `${at}, ${what}`);
      return found;
    };
    const count = concrete.argumentLeaves.length;
    const inputs = tensors(3, count, 'input');
    if (inputs.length !== count || new Set(inputs.map((i) => i.leaf)).size !== count) {
      this.fail(at, 'its inputs do not name each argument once');
    }
    const outputs = tensors(4, concrete.resultLeaves.length, 'output');
    return { name, concreteFunction: index, inputs, outputs };
  }
}

type Kinds = Readonly<
  Record<number, readonly [Port['source'], readonly { dtype: DType; shape: Shape }[]]>
>;
