/** The bundle, on whatever platform: signatures, calls, variables. */

import { describe, type TensorSpec } from './dtypes.js';
import { InvalidArgumentError, listed, nearest, NotFoundError } from './errors.js';
import type { ConcreteFunctionEntry, SignatureEntry } from './manifest.js';
import type { Platform } from './platform.js';
import { checkDimensions, Plan } from './plan.js';
import { makeCheckpoint, readCheckpoint, savedFiles } from './saving.js';
import { Sources } from './sources.js';
import { type Snapshot, State, Value, Variables } from './state.js';
import { type Tensor, type TensorLike, toTensor } from './tensor.js';

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
export { type Nested, Tensor, type TensorLike } from './tensor.js';
export { Variables } from './state.js';

/** How a bundle is opened. */
export interface OpenOptions {
  /** Compare the SHA-256 of every file; sizes, small files and graphs are always compared. */
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
  /** The file that any ONNX Runtime can run. */
  readonly file: string;
  /** The signature on one line. */
  toString(): string;
}

/** A function of the bundle, ready to be called: which of its graphs runs. */
class LoadedFunction {
  readonly updates: boolean;
  private frozen: Promise<Plan> | null = null;
  private live: Promise<Plan> | null = null;
  private readonly frozenIds: readonly number[];

  constructor(
    private readonly sources: Sources,
    private readonly entry: ConcreteFunctionEntry,
    private readonly freeze: boolean,
  ) {
    this.updates = entry.graph.outputs.some((o) => o.source === 'variable');
    this.frozenIds = entry.graph.frozen.map((f) => f.variable);
  }

  /** The session for these variables; the frozen form serves until one that it holds changes. */
  plan(snapshot: Snapshot): Promise<Plan> {
    const mayFreeze = this.freeze || !this.frozenIds.length;
    if (mayFreeze && !this.frozenIds.some((id) => snapshot.changed.has(id))) {
      this.frozen ??= this.opened(Plan.open(this.sources, this.entry.graph), () => {
        this.frozen = null;
      });
      return this.frozen;
    }
    const { graph, liveGraph } = this.entry;
    this.live ??= this.opened(
      liveGraph ? Plan.open(this.sources, liveGraph) : Plan.open(this.sources, graph, true),
      () => {
        this.live = null;
      },
    );
    return this.live;
  }

  async release(): Promise<void> {
    const plans = await Promise.allSettled([this.frozen, this.live]);
    for (const plan of plans) {
      if (plan.status === 'fulfilled') await plan.value?.release();
    }
  }

  /** A failure is not kept: the next call tries again. */
  private opened(plan: Promise<Plan>, forget: () => void): Promise<Plan> {
    plan.catch(forget);
    return plan;
  }
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
  private readonly entries: ReadonlyMap<string, SignatureEntry>;
  private running = new Set<Promise<unknown>>();

  protected constructor(
    protected readonly sources: Sources,
    private readonly options: OpenOptions,
  ) {
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
    return new Bundle(await Sources.open(platform, options.verify ?? false), options);
  }

  /** The folder or address of the bundle. */
  get path(): string {
    return this.sources.platform.files.where;
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
    const what = `signature ${JSON.stringify(signature)}`;
    const entry = this.entry(signature);
    const args = this.bind(entry, inputs, what);
    const fn = this.function(entry.concreteFunction);
    const work = fn.updates
      ? this.state.inTurn(() => this.step(fn, args, what))
      : this.step(fn, args, what);
    const results = await this.tracked(work);
    return Object.fromEntries(entry.outputs.map((o) => [o.name, results.get(o.leaf) as Tensor]));
  }

  /** Open the session of a signature, or of all, so that the first call need not. */
  async warmup(signature?: string): Promise<void> {
    const names = signature === undefined ? [...this.entries.keys()] : [signature];
    for (const name of names) {
      await this.tracked(
        this.function(this.entry(name).concreteFunction).plan(this.state.snapshot),
      );
    }
  }

  /**
   * Give variables the values that a checkpoint has for them; names must be those of the bundle.
   *
   * @param data The bytes of a `.safetensors` file.
   * @returns Names of the variables that it has no value for.
   * @throws BundleError it is no such file, or is damaged, or fits none of the variables.
   */
  async restoreFrom(data: Uint8Array): Promise<string[]> {
    const tensors = await readCheckpoint(data, this.sources.platform.sha256);
    const known = [...tensors].filter(([name]) => this.variables.has(name));
    if (!known.length) {
      throw new NotFoundError(
        `the checkpoint has ${listed(tensors.keys())}, none of which is a variable of ${this.path}; ` +
          `it has ${listed(this.variables.names())}`,
      );
    }
    await this.variables.assign(Object.fromEntries(known));
    return this.variables.names().filter((name) => !tensors.has(name));
  }

  /** The variables as the bytes of a checkpoint, which `tfx` in Python restores too. */
  checkpoint(): Promise<Uint8Array> {
    const { values } = this.state.snapshot;
    const tensors = new Map(this.variables.names().map((n, i) => [n, (values[i] as Value).tensor]));
    return makeCheckpoint(tensors, this.sources.platform.sha256);
  }

  /**
   * The files of the bundle with the variables as they are now; graphs are as they were.
   *
   * @throws FailedPreconditionError a graph would no longer fit the new variables.
   */
  files(): Promise<Map<string, Uint8Array>> {
    return savedFiles(this.sources, this.state.snapshot);
  }

  /** Give the sessions and files back, after the calls that are under way. */
  async close(): Promise<void> {
    await Promise.allSettled(this.running);
    this.state.close();
    for (const fn of this.functions.values()) await fn.release();
    this.functions.clear();
    await this.sources.platform.files.close();
  }

  private async step(
    fn: LoadedFunction,
    args: readonly Tensor[],
    what: string,
  ): Promise<ReadonlyMap<number, Tensor>> {
    const { snapshot } = this.state;
    const plan = await fn.plan(snapshot);
    const { results, updates } = await plan.run(args, snapshot, what);
    if (updates.size) this.state.commit(updates);
    return results;
  }

  private tracked<T>(work: Promise<T>): Promise<T> {
    const kept = work.finally(() => this.running.delete(kept));
    this.running.add(kept);
    return kept;
  }

  private entry(name: string): SignatureEntry {
    this.state.check();
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

  /** Check the arguments of a call and convert them; one tensor for each argument leaf. */
  private bind(
    entry: SignatureEntry,
    given: Readonly<Record<string, TensorLike>>,
    what: string,
  ): Tensor[] {
    const { inputs } = this.signatures[entry.name] as SignatureInfo;
    const takes = Object.values(inputs).map((i) => `${i.name} ${describe(i.dtype, i.shape)}`);
    const list = takes.join(', ') || 'none';
    for (const name of Object.keys(given)) {
      if (!Object.hasOwn(inputs, name)) {
        throw new InvalidArgumentError(
          `${what} takes no input ${JSON.stringify(name)}; ${nearest(name, Object.keys(inputs))}; ` +
            `its inputs: ${list}`,
        );
      }
    }
    const args: Tensor[] = [];
    for (const { name, leaf } of entry.inputs) {
      const value = Object.hasOwn(given, name) ? given[name] : undefined;
      if (value === undefined) {
        throw new InvalidArgumentError(
          `${what} needs the input ${JSON.stringify(name)}, which is missing; its inputs: ${list}`,
        );
      }
      const spec = inputs[name] as TensorSpec;
      args[leaf] = toTensor(value, spec, `${what}: input ${JSON.stringify(name)}`);
    }
    const ordered = entry.inputs.map((i) => args[i.leaf] as Tensor);
    checkDimensions(what, Object.values(inputs), ordered);
    return args;
  }

  private info(entry: SignatureEntry): SignatureInfo {
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
      file: concrete.graph.file,
      toString: () => `${entry.name}(${text(inputs)}) -> ${text(outputs) || 'nothing'}`,
    });
  }
}
