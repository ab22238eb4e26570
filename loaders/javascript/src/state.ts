/**
 * The variables of an open bundle: their values, and how they are replaced.
 *
 * All values together are one immutable snapshot. A call works on the snapshot that it began with;
 * changing variables is putting another in its place, so nobody ever sees half of a change.
 */

import type { TensorSpec } from './dtypes.js';
import { FailedPreconditionError, nearest, NotFoundError } from './errors.js';
import type { VariableEntry } from './manifest.js';
import type { Runtime, RuntimeTensor } from './platform.js';
import { checkFit, type Tensor, type TensorLike, toTensor } from './tensor.js';

/** A value that never changes; read from the file, and given to the runtime, when first needed. */
export class Value {
  private tensorOf: Tensor | null = null;

  constructor(
    private readonly read: () => Tensor,
    private rawOf: RuntimeTensor | null = null,
  ) {}

  /** A value that is there already, perhaps as the runtime has it too. */
  static of(tensor: Tensor, raw: RuntimeTensor | null = null): Value {
    return new Value(() => tensor, raw);
  }

  get tensor(): Tensor {
    return (this.tensorOf ??= this.read());
  }

  raw(runtime: Runtime): RuntimeTensor {
    const { dtype, data, shape } = this.tensor;
    return (this.rawOf ??= runtime.tensor(dtype, data, shape));
  }
}

/** All variables at one moment. */
export interface Snapshot {
  readonly values: readonly Value[];
  /** Ids of those that are not as they were in the file. */
  readonly changed: ReadonlySet<number>;
  /** How often all of them were replaced by those of another version of the bundle. */
  readonly version: number;
}

export class State {
  private current: Snapshot | null;
  private refuses = false;
  private turn: Promise<unknown> = Promise.resolve();
  private readonly ids: ReadonlyMap<string, number>;

  constructor(
    readonly entries: readonly VariableEntry[],
    values: readonly Value[],
    private readonly where: string,
  ) {
    this.current = { values, changed: new Set(), version: 0 };
    this.ids = new Map(entries.map((entry, id) => [entry.name, id]));
  }

  /** @throws FailedPreconditionError the bundle was closed. */
  get snapshot(): Snapshot {
    if (!this.current) throw this.closed();
    return this.current;
  }

  /** @throws FailedPreconditionError the bundle was closed, or is being closed. */
  check(): void {
    if (this.refuses) throw this.closed();
  }

  id(name: string): number {
    const id = this.ids.get(name);
    if (id === undefined) {
      throw new NotFoundError(
        `${this.where} has no variable ${JSON.stringify(name)}; ${nearest(name, this.ids.keys())}`,
      );
    }
    return id;
  }

  has(name: string): boolean {
    return this.ids.has(name);
  }

  /** Do something that reads and then replaces variables, after all that were asked for before. */
  inTurn<T>(work: () => T | Promise<T>): Promise<T> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => undefined);
    return done;
  }

  /** Put new values in the place of old ones, in one step. */
  commit(updates: ReadonlyMap<number, Value>): void {
    const { values, changed, version } = this.snapshot;
    const isKnown = [...updates.keys()].every((id) => changed.has(id));
    this.current = {
      values: values.map((value, id) => updates.get(id) ?? value),
      changed: isKnown ? changed : new Set([...changed, ...updates.keys()]),
      version,
    };
  }

  /** Take the variables of another version, in one step. */
  replace(values: readonly Value[]): void {
    this.current = { values, changed: new Set(), version: this.snapshot.version + 1 };
  }

  /** Take no new work; what is under way goes on. */
  refuse(): void {
    this.refuses = true;
  }

  close(): void {
    this.refuse();
    this.current = null;
  }

  private closed(): FailedPreconditionError {
    return new FailedPreconditionError(`${this.where}: the bundle was closed; open it again`);
  }
}

/**
 * The variables of a bundle by name.
 *
 * @example
 * bundle.variables.get('dense/kernel').shape;
 * await bundle.variables.assign({ 'dense/bias': new Float32Array(10) });
 */
export class Variables {
  constructor(
    private readonly state: State,
    private readonly where: string,
  ) {}

  /** Names, in the order of the bundle. */
  names(): string[] {
    return this.state.entries.map((entry) => entry.name);
  }

  has(name: string): boolean {
    return this.state.has(name);
  }

  /** Dtype and shape that a variable may take, and whether it is meant to be trained. */
  entry(name: string): TensorSpec & { readonly trainable: boolean } {
    return this.state.entries[this.state.id(name)] as VariableEntry;
  }

  /**
   * The value of a variable now; a copy that nobody changes.
   *
   * @throws BundleError the file that it is in was damaged.
   */
  get(name: string): Tensor {
    this.state.check();
    const { values } = this.state.snapshot;
    return (values[this.state.id(name)] as Value).tensor.copy();
  }

  /**
   * Replace variables, all of them or, if anything is wrong with one, none.
   *
   * It takes its turn with calls that update variables.
   */
  async assign(values: Readonly<Record<string, TensorLike>>): Promise<void> {
    this.state.check();
    const owned = Object.entries(values).map(([name, value]) => {
      const what = `${this.where}: variable ${JSON.stringify(name)}`;
      return [name, toTensor(value, this.entry(name), what)] as const;
    });
    await this.take(owned);
  }

  /**
   * As `assign`, of tensors that nobody else has.
   *
   * @internal
   */
  async take(tensors: readonly (readonly [string, Tensor])[]): Promise<void> {
    this.state.check();
    const updates = new Map<number, Value>();
    for (const [name, tensor] of tensors) {
      checkFit(tensor, this.entry(name), `${this.where}: variable ${JSON.stringify(name)}`);
      updates.set(this.state.id(name), Value.of(tensor));
    }
    await this.state.inTurn(() => {
      this.state.commit(updates);
    });
  }
}
