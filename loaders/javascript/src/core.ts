/** The bundle, on whatever platform: signatures, calls, variables. */

import { describe, type TensorSpec } from './dtypes.js';
import { InvalidArgumentError, listed, nearest, NotFoundError } from './errors.js';
import { Era, LoadedFunction } from './function.js';
import type { ConcreteFunctionEntry, SignatureEntry } from './manifest.js';
import type { Platform } from './platform.js';
import { checkDimensions } from './plan.js';
import {
  type CheckpointFile,
  type CheckpointPart,
  inMemory,
  makeCheckpoint,
  openCheckpoint,
} from './checkpoint.js';
import { savedFiles } from './saving.js';
import { Sources } from './sources.js';
import { State, Value, Variables } from './state.js';
import { type Tensor, type TensorLike, toTensor } from './tensor.js';
import { readStructures, type Structures } from './structure.js';
import { requireSameGraphs } from './versions.js';
import { joined } from './wire.js';

export * from './errors.js';
export {
  type Data,
  describe,
  type Dim,
  type DType,
  type NumberArray,
  type Shape,
  type TensorSpec,
} from './dtypes.js';
export type { Files, Platform, Runtime, RuntimeSession, RuntimeTensor } from './platform.js';
export type { ArchiveBytes } from './archive_memory.js';
export { type Nested, Tensor, type TensorLike } from './tensor.js';
export { Variables } from './state.js';
export type { Structure, Structures } from './structure.js';

/** How a bundle is opened. */
export interface OpenOptions {
  /**
   * Sizes, small files and graphs are always compared with the manifest. Large files of weights are
   * when something of them is first used; true compares the SHA-256 of every file now, false never
   * those of large ones.
   */
  readonly verify?: boolean;
  /**
   * Let the runtime keep the weights of each signature in the form its kernels like best (the
   * default). False feeds them, which saves the memory of packed copies.
   */
  readonly freeze?: boolean;
}

/** What a signature takes and gives. */
export interface SignatureInfo {
  readonly name: string;
  readonly inputs: Readonly<Record<string, TensorSpec>>;
  readonly outputs: Readonly<Record<string, TensorSpec>>;
  /** Names of the variables to which a call gives new values. */
  readonly updates: readonly string[];
  /** How inputs and outputs were nested in the program that was traced. */
  readonly structure: Structures;
  /** The file that any ONNX Runtime can run. */
  readonly file: string;
  /** The signature on one line. */
  toString(): string;
}

/** What calls of one signature need, worked out once. */
interface Prepared {
  readonly fn: LoadedFunction;
  /** The signature, for messages. */
  readonly what: string;
  readonly specs: readonly TensorSpec[];
  /** Of each input: which leaf it is, and what messages call it. */
  readonly inputs: readonly { readonly leaf: number; readonly what: string }[];
  readonly outputs: SignatureEntry['outputs'];
}

/**
 * An open bundle.
 *
 * Calls may overlap. Those that update variables take turns, in the order in which they were made;
 * others run with the variables as they are when the call begins.
 */
export class Bundle {
  /** What can be called, by name. */
  readonly signatures: Readonly<Record<string, SignatureInfo>>;
  /** The variables by name. */
  readonly variables: Variables;
  private readonly state: State;
  private readonly functions = new Map<number, LoadedFunction>();
  private readonly prepared = new Map<string, Prepared>();
  private readonly entries: ReadonlyMap<string, SignatureEntry>;
  private era: Era;
  /** Versions of before, until their last call has ended. */
  private readonly leaving = new Set<Promise<void>>();
  private reloading: Promise<unknown> = Promise.resolve();

  protected constructor(
    sources: Sources,
    private readonly options: OpenOptions,
  ) {
    this.era = new Era(sources);
    const { manifest, platform } = sources;
    this.entries = new Map(manifest.signatures.map((entry) => [entry.name, entry]));
    this.state = new State(manifest.variables, sources.values(), platform.files.where);
    this.variables = new Variables(this.state, platform.files.where);
    const table = Object.create(null) as Record<string, SignatureInfo>;
    for (const entry of manifest.signatures) table[entry.name] = this.info(entry);
    this.signatures = Object.freeze(table);
  }

  /** Open a bundle on a platform; `Bundle.open` of an entry point is what programs call. */
  static async on(platform: Platform, options: OpenOptions = {}): Promise<Bundle> {
    return new Bundle(await Sources.open(platform, options.verify), options);
  }

  /** The folder, archive or address of the bundle; of bytes in memory the name of their file. */
  get path(): string {
    return this.sources.platform.files.where;
  }

  protected get sources(): Sources {
    return this.era.sources;
  }

  /**
   * Call a signature.
   *
   * @param signature Its name.
   * @param inputs A value for each of its inputs, by name.
   * @returns Its outputs by name.
   * @throws NotFoundError there is no such signature.
   * @throws InvalidArgumentError an input is missing, unknown or does not fit, or a kernel refused
   *   its values. Variables are as before.
   */
  async call(
    signature: string,
    inputs: Readonly<Record<string, TensorLike>> = {},
  ): Promise<Record<string, Tensor>> {
    const prepared = this.prepare(signature);
    const { fn, what, outputs } = prepared;
    const args = bind(prepared, inputs);
    const leave = this.era.enter();
    try {
      const results = fn.updates
        ? await this.state.inTurn(() => this.step(fn, args, what))
        : await this.step(fn, args, what);
      return Object.fromEntries(outputs.map((o) => [o.name, results[o.leaf] as Tensor]));
    } finally {
      leave();
    }
  }

  /** Open the session of a signature, or of all, so that the first call need not. */
  async warmup(signature?: string): Promise<void> {
    const names = signature === undefined ? [...this.entries.keys()] : [signature];
    await this.tracked(async () => {
      for (const name of names) await this.prepare(name).fn.plan(this.state.snapshot);
    });
  }

  /**
   * Compare the SHA-256 of every file with the manifest, also of large ones.
   *
   * @throws BundleError a file is not the one that was saved.
   */
  verify(): Promise<void> {
    return this.tracked((sources) => sources.verify());
  }

  /**
   * Give variables the values that a checkpoint has for them; names must be those of the bundle.
   *
   * @param data The bytes of a `.safetensors` file.
   * @returns Names of the variables that it has no value for.
   * @throws BundleError it is no such file, or is damaged.
   * @throws NotFoundError it has none of the variables.
   */
  restoreFrom(data: Uint8Array): Promise<string[]> {
    return this.restoreParts([inMemory(data, 'the checkpoint')]);
  }

  /** The variables as the bytes of a checkpoint, which `tfx` in Python restores too. */
  async checkpoint(): Promise<Uint8Array> {
    const [file] = await this.checkpointFiles(Infinity);
    return joined(...(file?.parts ?? []));
  }

  /**
   * The files of the bundle with the variables as they are now; graphs are as they were.
   *
   * @throws FailedPreconditionError a graph would no longer fit the new variables.
   */
  async files(): Promise<Map<string, Uint8Array>> {
    const found = new Map<string, Uint8Array>();
    await this.eachFile((path, parts) => {
      found.set(path, joined(...parts));
    });
    return found;
  }

  /** The files of `files`, one after the other, each in parts. */
  protected eachFile(take: (path: string, parts: readonly Uint8Array[]) => void): Promise<void> {
    return this.tracked(async (sources) => {
      for await (const { path, parts } of savedFiles(sources, this.state.snapshot)) {
        take(path, parts);
      }
    });
  }

  /** The files of a checkpoint; several, if it has more bytes than `most`. */
  protected checkpointFiles(most: number): Promise<CheckpointFile[]> {
    return this.tracked((sources) => {
      const { values } = this.state.snapshot;
      const names = this.variables.names();
      const tensors = new Map(names.map((n, i) => [n, (values[i] as Value).tensor]));
      return Promise.resolve(makeCheckpoint(tensors, sources.platform.crc32, most));
    });
  }

  /** Restore from the files of a checkpoint. */
  protected restoreParts(parts: readonly CheckpointPart[]): Promise<string[]> {
    return this.tracked(async ({ platform }) => {
      const checkpoint = openCheckpoint(parts, platform.crc32);
      const known = checkpoint.keys().filter((name) => this.variables.has(name));
      if (!known.length) {
        throw new NotFoundError(
          `the checkpoint has ${listed(checkpoint.keys())}, none of which is a variable of ` +
            `${this.path}; it has ${listed(this.variables.names())}`,
        );
      }
      const values = known.map((name) => [name, checkpoint.tensor(name)] as const);
      await this.variables.take(values);
      const found = new Set(known);
      return this.variables.names().filter((name) => !found.has(name));
    });
  }

  /**
   * Take all variables from another version of the bundle, in one step; sessions stay open.
   *
   * @throws FailedPreconditionError it differs in more than the values of variables.
   */
  protected reloadFrom(open: () => Platform | Promise<Platform>): Promise<void> {
    const before = this.reloading;
    const work = this.tracked(async () => {
      await before;
      await this.reloadNow(await open());
    });
    this.reloading = work.catch(() => undefined);
    return work;
  }

  private async reloadNow(platform: Platform): Promise<void> {
    const old = this.sources;
    try {
      const fresh = await Sources.open(platform, this.options.verify);
      await requireSameGraphs(old, fresh);
      await fresh.check(fresh.manifest.variables.map(({ storage }) => fresh.range(storage)));
      await Promise.all(
        [...this.functions.values()].map((fn) => fn.prepareReload(this.state.snapshot)),
      );
      await this.state.inTurn(() => {
        this.swap(fresh);
      });
    } catch (error) {
      await platform.files.close();
      throw error;
    }
  }

  private swap(fresh: Sources): void {
    const { era } = this;
    this.state.replace(fresh.values());
    this.era = new Era(fresh);
    const releases = [...this.functions.values()].map((fn) => fn.reload(fresh));
    const left = era.idle().then(async () => {
      for (const release of releases) await release();
      await era.sources.close();
    });
    this.leaving.add(left);
    void left.finally(() => this.leaving.delete(left));
  }

  /**
   * Give sessions, weights and files back, after the calls that are under way; new ones are refused
   * at once. What was handed out stays valid.
   */
  async close(): Promise<void> {
    this.state.refuse();
    await this.state.inTurn(() => undefined);
    await this.era.idle();
    await Promise.all(this.leaving);
    this.state.close();
    const functions = [...this.functions.values()];
    this.functions.clear();
    this.prepared.clear();
    for (const fn of functions) await fn.release();
    await this.sources.close();
  }

  private async step(
    fn: LoadedFunction,
    args: readonly Tensor[],
    what: string,
  ): Promise<readonly Tensor[]> {
    const { snapshot } = this.state;
    const plan = fn.ready(snapshot) ?? (await fn.plan(snapshot));
    const { results, updates } = await plan.run(args, snapshot, what);
    if (updates.size) this.state.commit(updates);
    return results;
  }

  private async tracked<T>(work: (sources: Sources) => Promise<T>): Promise<T> {
    this.state.check();
    const leave = this.era.enter();
    try {
      return await work(this.sources);
    } finally {
      leave();
    }
  }

  private prepare(name: string): Prepared {
    this.state.check();
    let found = this.prepared.get(name);
    if (!found) {
      const entry = this.entry(name);
      const what = `signature ${JSON.stringify(name)}`;
      found = {
        fn: this.function(entry.concreteFunction),
        what,
        specs: Object.values((this.signatures[name] as SignatureInfo).inputs),
        inputs: entry.inputs.map((input) => ({
          leaf: input.leaf,
          what: `${what}: input ${JSON.stringify(input.name)}`,
        })),
        outputs: entry.outputs,
      };
      this.prepared.set(name, found);
    }
    return found;
  }

  private entry(name: string): SignatureEntry {
    const entry = this.entries.get(name);
    if (!entry) {
      throw new NotFoundError(
        `${this.path} has no signature ${JSON.stringify(name)}; ${nearest(name, this.entries.keys())}`,
      );
    }
    return entry;
  }

  private function(id: number): LoadedFunction {
    let fn = this.functions.get(id);
    if (!fn) {
      const entry = this.sources.manifest.concreteFunctions[id] as ConcreteFunctionEntry;
      fn = new LoadedFunction(this.sources, entry, this.options.freeze ?? true);
      this.functions.set(id, fn);
    }
    return fn;
  }

  private info(entry: SignatureEntry): SignatureInfo {
    const { path } = this;
    const { concreteFunctions, variables } = this.sources.manifest;
    const concrete = concreteFunctions[entry.concreteFunction] as ConcreteFunctionEntry;
    const named = (
      tensors: SignatureEntry['inputs'],
      leaves: readonly TensorSpec[],
    ): Record<string, TensorSpec> =>
      Object.freeze(
        Object.fromEntries(
          tensors.map(({ name, leaf }) => [name, { ...(leaves[leaf] as TensorSpec), name }]),
        ),
      );
    const inputs = named(entry.inputs, concrete.argumentLeaves);
    const outputs = named(entry.outputs, concrete.resultLeaves);
    const written = concrete.graph.outputs.filter((o) => o.source === 'variable');
    const text = (table: Record<string, TensorSpec>) =>
      Object.values(table)
        .map((i) => `${i.name}: ${describe(i.dtype, i.shape)}`)
        .join(', ');
    return Object.freeze({
      name: entry.name,
      inputs,
      outputs,
      updates: written.map((o) => variables[o.index]?.name ?? ''),
      get structure() {
        const leaves = (tensors: SignatureEntry['inputs'], table: Record<string, TensorSpec>) =>
          new Map(tensors.map(({ name, leaf }) => [leaf, table[name] as TensorSpec]));
        const { args, result, resultLeaves } = concrete;
        // Results that the signature leaves out have the names that the function gave them.
        const results = new Map([...resultLeaves.entries(), ...leaves(entry.outputs, outputs)]);
        const where = `${path}: signature ${JSON.stringify(entry.name)}`;
        return readStructures(args, result, leaves(entry.inputs, inputs), results, where);
      },
      file: concrete.graph.file,
      toString: () => `${entry.name}(${text(inputs)}) -> ${text(outputs) || 'nothing'}`,
    });
  }
}

/** Check the arguments of a call and convert them; one tensor for each argument leaf. */
function bind(
  { what, specs, inputs }: Prepared,
  given: Readonly<Record<string, TensorLike>>,
): Tensor[] {
  checkNames(what, specs, given);
  const ordered = specs.map((spec, i) =>
    toTensor(given[spec.name] as TensorLike, spec, (inputs[i] as Prepared['inputs'][number]).what),
  );
  checkDimensions(what, specs, ordered);
  const args: Tensor[] = [];
  inputs.forEach(({ leaf }, i) => (args[leaf] = ordered[i] as Tensor));
  return args;
}

/** Nothing is missing, and nothing is unknown. */
function checkNames(
  what: string,
  specs: readonly TensorSpec[],
  given: Readonly<Record<string, TensorLike>>,
): void {
  if (typeof given !== 'object' || (given as unknown) === null) {
    throw new InvalidArgumentError(
      `${what}: its inputs are ${JSON.stringify(given)}, expected an object`,
    );
  }
  const names = Object.keys(given);
  const isMissing = (name: string) => !Object.hasOwn(given, name) || given[name] === undefined;
  const missing = specs.find(({ name }) => isMissing(name));
  if (!missing && names.length === specs.length) return;
  const known = specs.map((spec) => spec.name);
  const list = specs.map((i) => `${i.name} ${describe(i.dtype, i.shape)}`).join(', ') || 'none';
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new InvalidArgumentError(
      `${what} takes no input ${JSON.stringify(unknown)}; ${nearest(unknown, known)}; its inputs: ` +
        list,
    );
  }
  throw new InvalidArgumentError(
    `${what} needs the input ${JSON.stringify(missing?.name)}, which is missing; its inputs: ${list}`,
  );
}
