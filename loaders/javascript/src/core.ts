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
  private frozenPlan: Plan | null = null;
  private livePlan: Plan | null = null;
  private readonly frozenIds: readonly number[];

  constructor(
    private readonly sources: Sources,
    private readonly entry: ConcreteFunctionEntry,
    private readonly freeze: boolean,
  ) {
    this.updates = entry.graph.outputs.some((o) => o.source === 'variable');
    this.frozenIds = entry.graph.frozen.map((f) => f.variable);
  }

  /** The session for these variables, if it is open already. */
  ready(snapshot: Snapshot): Plan | null {
    return this.mayUseFrozen(snapshot) ? this.frozenPlan : this.livePlan;
  }

  /** The session for these variables; the frozen form serves until one that it holds changes. */
  plan(snapshot: Snapshot): Promise<Plan> {
    if (this.mayUseFrozen(snapshot)) {
      return (this.frozen ??= Plan.open(this.sources, this.entry.graph).then(
        (plan) => (this.frozenPlan = plan),
        (error: unknown) => {
          this.frozen = null; // a failure is not kept: the next call tries again
          throw error;
        },
      ));
    }
    const { graph, liveGraph } = this.entry;
    this.live ??= (
      liveGraph ? Plan.open(this.sources, liveGraph) : Plan.open(this.sources, graph, true)
    ).then(
      (plan) => (this.livePlan = plan),
      (error: unknown) => {
        this.live = null;
        throw error;
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

  private mayUseFrozen({ changed }: Snapshot): boolean {
    if (!this.frozenIds.length) return true;
    return this.freeze && (!changed.size || !this.frozenIds.some((id) => changed.has(id)));
  }
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
  private running = 0;
  private whenIdle: (() => void)[] = [];

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
    const prepared = this.prepare(signature);
    const { fn, what, outputs } = prepared;
    const args = bind(prepared, inputs);
    this.running++;
    try {
      const results = fn.updates
        ? await this.state.inTurn(() => this.step(fn, args, what))
        : await this.step(fn, args, what);
      return Object.fromEntries(outputs.map((o) => [o.name, results[o.leaf] as Tensor]));
    } finally {
      this.ended();
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
    return this.tracked(() => {
      const { values } = this.state.snapshot;
      const names = this.variables.names();
      const tensors = new Map(names.map((n, i) => [n, (values[i] as Value).tensor]));
      return makeCheckpoint(tensors, this.sources.platform.sha256);
    });
  }

  /**
   * The files of the bundle with the variables as they are now; graphs are as they were.
   *
   * @throws FailedPreconditionError a graph would no longer fit the new variables.
   */
  files(): Promise<Map<string, Uint8Array>> {
    return this.tracked(() => savedFiles(this.sources, this.state.snapshot));
  }

  /**
   * Give sessions, weights and files back, after the calls that are under way; new ones are refused
   * at once. What was handed out stays valid.
   */
  async close(): Promise<void> {
    this.state.refuse();
    await this.state.inTurn(() => undefined);
    while (this.running) {
      await new Promise<void>((resolve) => {
        this.whenIdle.push(resolve);
      });
    }
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

  private async tracked<T>(work: () => Promise<T>): Promise<T> {
    this.state.check();
    this.running++;
    try {
      return await work();
    } finally {
      this.ended();
    }
  }

  private ended(): void {
    if (--this.running) return;
    const waiting = this.whenIdle;
    this.whenIdle = [];
    for (const resolve of waiting) resolve();
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
