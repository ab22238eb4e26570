/** The functions of an open bundle: which session serves a call, and what that depends on. */

import { elementType } from './dtypes.js';
import type { ConcreteFunctionEntry, VariableEntry } from './manifest.js';
import { Plan } from './plan.js';
import type { Sources } from './sources.js';
import type { Snapshot, Value } from './state.js';

/** A function of the bundle, ready to be called: which of its graphs runs. */
export class LoadedFunction {
  readonly updates: boolean;
  private frozen: Promise<Plan> | null = null;
  private live: Promise<Plan> | null = null;
  private frozenPlan: Plan | null = null;
  private livePlan: Plan | null = null;
  private readonly frozenIds: readonly number[];
  /** Those that the runtime cannot be fed with, and what the live session has for them. */
  private readonly heldIds: readonly number[];
  private heldValues: readonly (Value | undefined)[] = [];

  constructor(
    private sources: Sources,
    private readonly entry: ConcreteFunctionEntry,
    private freeze: boolean,
  ) {
    this.updates = entry.graph.outputs.some((o) => o.source === 'variable');
    this.frozenIds = entry.graph.frozen.map((f) => f.variable);
    const { variables } = sources.manifest;
    this.heldIds = this.frozenIds.filter((id) => !isFed(variables[id] as VariableEntry));
  }

  /** The session for these variables, if it is open already. */
  ready(snapshot: Snapshot): Plan | null {
    if (this.mayUseFrozen(snapshot)) return this.frozenPlan;
    return this.isHeld(snapshot) ? this.livePlan : null;
  }

  /** The session for these variables; the frozen form serves until one that it holds changes. */
  plan(snapshot: Snapshot): Promise<Plan> {
    return this.mayUseFrozen(snapshot) ? this.openFrozen() : this.openLive(snapshot);
  }

  /** Before variables of another version are taken: open what will be needed then. */
  async prepareReload(snapshot: Snapshot): Promise<void> {
    const isOpen = Boolean(this.frozen ?? this.live);
    if (this.frozenIds.length && !this.heldIds.length && isOpen) await this.openLive(snapshot);
  }

  /**
   * Go on with another version.
   *
   * @returns Lets go of the session that holds the weights of the old one.
   */
  reload(sources: Sources): () => Promise<void> {
    this.sources = sources;
    if (!this.frozenIds.length || !(this.frozen ?? this.live)) return () => Promise.resolve();
    const old = [this.frozen];
    this.frozen = this.frozenPlan = null;
    this.freeze = false;
    if (this.heldIds.length) {
      old.push(this.live);
      this.live = this.livePlan = null;
    }
    return () => releaseAll(old);
  }

  release(): Promise<void> {
    return releaseAll([this.frozen, this.live]);
  }

  private openFrozen(): Promise<Plan> {
    if (this.frozen) return this.frozen;
    const opening = Plan.open(this.sources, this.entry.graph);
    this.frozen = opening;
    opening.then(
      (plan) => {
        if (this.frozen === opening) this.frozenPlan = plan;
      },
      () => {
        if (this.frozen === opening) this.frozen = null; // the next call tries again
      },
    );
    return opening;
  }

  private openLive(snapshot: Snapshot): Promise<Plan> {
    if (this.live && this.isHeld(snapshot)) return this.live;
    void releaseAll([this.live]);
    const { graph, liveGraph } = this.entry;
    const opening =
      liveGraph && !this.heldIds.length
        ? Plan.open(this.sources, liveGraph)
        : Plan.open(this.sources, graph, snapshot);
    this.live = opening;
    this.livePlan = null;
    this.heldValues = this.heldIds.map((id) => snapshot.values[id]);
    opening.then(
      (plan) => {
        if (this.live === opening) this.livePlan = plan;
      },
      () => {
        if (this.live === opening) this.live = null;
      },
    );
    return opening;
  }

  private isHeld({ values }: Snapshot): boolean {
    return this.heldIds.every((id, i) => values[id] === this.heldValues[i]);
  }

  private mayUseFrozen({ changed }: Snapshot): boolean {
    if (!this.frozenIds.length) return true;
    return this.freeze && (!changed.size || !this.frozenIds.some((id) => changed.has(id)));
  }
}

/** Whether the runtime has tensors of a variable's dtype. */
function isFed({ dtype }: VariableEntry): boolean {
  return elementType(dtype).runs;
}

async function releaseAll(opened: readonly (Promise<Plan> | null)[]): Promise<void> {
  const plans = opened.filter((plan) => plan !== null);
  for (const plan of await Promise.allSettled(plans)) {
    if (plan.status === 'fulfilled') await plan.value.release();
  }
}

/** The files of one version of the bundle, and how many calls may still need them. */
export class Era {
  private running = 0;
  private waiting: (() => void)[] = [];

  constructor(readonly sources: Sources) {}

  /** Something begins; what is returned says that it has ended. */
  enter(): () => void {
    this.running++;
    return () => {
      if (--this.running) return;
      for (const resolve of this.waiting.splice(0)) resolve();
    };
  }

  /** All that has begun has ended. */
  async idle(): Promise<void> {
    while (this.running) {
      await new Promise<void>((resolve) => {
        this.waiting.push(resolve);
      });
    }
  }
}
