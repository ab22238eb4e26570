/**
 * A graph of a bundle as a session, and how a call's tensors meet its inputs and outputs.
 *
 * Nothing that a graph file says is believed: names, dtypes, the places of its weights and what
 * they are the weights of are compared with the manifest before the runtime gets the file.
 */

import {
  BY_NUMBER,
  describe,
  elementType,
  fits,
  isAutomatic,
  sizeOf,
  type TensorSpec,
} from './dtypes.js';
import {
  AbortedError,
  BundleError,
  InvalidArgumentError,
  listed,
  OpError,
  reason,
  ResourceExhaustedError,
  UnimplementedError,
  UnsupportedVersionError,
} from './errors.js';
import type { GraphEntry, Port, VariableEntry } from './manifest.js';
import { type External, type Initializer, type Lines, OnnxFile } from './onnx_file.js';
import type { Runtime, RuntimeSession, RuntimeTensor } from './platform.js';
import { TOO_NEW } from './probe.js';
import type { Range, Sources } from './sources.js';
import { type Snapshot, Value } from './state.js';
import { Tensor } from './tensor.js';

/** What a run gave. */
export interface RunResult {
  /** The result leaves, by number. */
  readonly results: readonly Tensor[];
  /** New values of variables, by id. */
  readonly updates: ReadonlyMap<number, Value>;
}

export class Plan {
  private running = 0;
  private whenIdle: (() => void) | null = null;
  private readonly fetches: readonly string[];
  private readonly args: readonly (readonly [string, number])[];
  private readonly constants: readonly (readonly [string, RuntimeTensor])[];
  /** Outputs, with what they must be, and whether they are inputs as well. */
  private readonly outputs: readonly (readonly [Port, TensorSpec, boolean])[];

  private constructor(
    private readonly runtime: Runtime,
    sources: Sources,
    graph: GraphEntry,
    private readonly variables: readonly (readonly [string, number])[],
    private readonly session: RuntimeSession,
    private readonly lines: Lines,
  ) {
    const from = (source: Port['source']) => graph.inputs.filter((i) => i.source === source);
    this.args = from('argument').map((i) => [i.name, i.index]);
    // Read now: the files may be closed before the session is.
    this.constants = from('constant').map((i) => [i.name, sources.constant(i.index).raw(runtime)]);
    const fed = new Set([...graph.inputs.map((i) => i.name), ...variables.map(([name]) => name)]);
    this.fetches = graph.outputs.map((o) => o.name);
    this.outputs = graph.outputs.map((port) => {
      const variable = sources.manifest.variables[port.index] as VariableEntry;
      return [port, port.source === 'variable' ? variable : port, fed.has(port.name)];
    });
  }

  /**
   * Check the file and compile it.
   *
   * @param thaw The variables that the graph has as initializers become inputs, or, where the
   *   runtime has no tensors of their dtype, get these values; null: they stay as they are.
   * @throws BundleError the file is damaged, or is not what the manifest says.
   */
  static async open(
    sources: Sources,
    graph: GraphEntry,
    thaw: Snapshot | null = null,
  ): Promise<Plan> {
    const { manifest } = sources;
    await sources.checkRuntime();
    const onnx = new OnnxFile(await sources.readGraph(graph.file), sources.path(graph.file));
    checkDTypes(graph, onnx.path);
    checkPorts(onnx, graph);
    for (const { name, variable } of graph.frozen) checkFrozen(onnx, name, variable, sources);
    const thawed = new Map<string, VariableEntry>();
    const held = new Map<string, Tensor>();
    for (const { name, variable } of thaw ? graph.frozen : []) {
      const entry = manifest.variables[variable] as VariableEntry;
      if (elementType(entry.dtype).runs) thawed.set(name, entry);
      else if (thaw?.changed.has(variable)) {
        held.set(name, (thaw.values[variable] as Value).tensor);
      }
    }
    const replaced = new Set([...thawed.keys(), ...held.keys()]);
    const external = checkExternal(onnx, replaced, sources);
    const fed = graph.frozen.filter(({ name }) => thawed.has(name));
    await sources.check(used(graph, fed, external, sources));
    const changed = held.size ? new OnnxFile(onnx.withValues(held), onnx.path) : onnx;
    const model = thawed.size ? changed.withInputs(thawed) : changed.data;
    const session = await compiled(model, onnx, sources, external);
    const variables = [
      ...graph.inputs.filter((i) => i.source === 'variable').map((i) => [i.name, i.index] as const),
      ...fed.map((f) => [f.name, f.variable] as const),
    ];
    return new Plan(sources.platform.runtime, sources, graph, variables, session, onnx.lines());
  }

  /**
   * Run the graph.
   *
   * @param args The argument leaves by number.
   * @param what The function, for messages.
   */
  async run(args: readonly Tensor[], snapshot: Snapshot, what: string): Promise<RunResult> {
    const { runtime } = this;
    const feeds: Record<string, RuntimeTensor> = {};
    for (const [name, leaf] of this.args) {
      const { dtype, data, shape } = args[leaf] as Tensor;
      feeds[name] = runtime.tensor(dtype, data, shape);
    }
    for (const [name, value] of this.constants) feeds[name] = value;
    for (const [name, id] of this.variables) {
      feeds[name] = (snapshot.values[id] as Value).raw(runtime);
    }
    if (!this.fetches.length) return { results: [], updates: new Map() };
    let found: Record<string, RuntimeTensor>;
    try {
      this.running++;
      found = await this.session.run(feeds, this.fetches);
    } catch (error) {
      throw runError(error, what, this.lines);
    } finally {
      if (--this.running === 0) this.whenIdle?.();
    }
    const results: Tensor[] = [];
    const updates = new Map<number, Value>();
    for (const [port, wanted, isFed] of this.outputs) {
      const raw = checkedOutput(port, wanted, found[port.name], what);
      // What is an input and an output comes back in the input's memory.
      const tensor = isFed ? tensorOf(raw, wanted).copy() : tensorOf(raw, wanted);
      if (port.source === 'result') results[port.index] = tensor;
      else updates.set(port.index, Value.of(tensor, isFed ? null : raw));
    }
    return { results, updates };
  }

  /** Give the session back, after the runs that are under way. */
  async release(): Promise<void> {
    if (this.running) {
      await new Promise<void>((resolve) => {
        this.whenIdle = resolve;
      });
    }
    await this.session.release();
  }
}

function checkedOutput(
  port: Port,
  wanted: TensorSpec,
  raw: RuntimeTensor | undefined,
  what: string,
): RuntimeTensor {
  const isVariable = port.source === 'variable';
  if (raw?.type === wanted.dtype && (!isVariable || fits(raw.dims, wanted.shape))) return raw;
  const came = raw ? describe(raw.type, raw.dims) : 'nothing';
  throw new InvalidArgumentError(
    `${what}: output ${JSON.stringify(port.name)} came as ${came}, expected ` +
      `${describe(wanted.dtype, wanted.shape)}; the variables were left as they were`,
  );
}

/** A tensor in the runtime's memory; halves are bits also where the language has an array of them. */
function tensorOf({ type, data, dims }: RuntimeTensor, { dtype }: TensorSpec): Tensor {
  let elements = data as Tensor['data'];
  if (type === 'float16' && !(elements instanceof Uint16Array)) {
    const { buffer, byteOffset, length } = elements as unknown as Uint16Array;
    elements = new Uint16Array(buffer, byteOffset, length);
  }
  return new Tensor(dtype, elements, [...dims]);
}

function checkDTypes(graph: GraphEntry, path: string): void {
  for (const { name, dtype } of [...graph.inputs, ...graph.outputs]) {
    if (!elementType(dtype).runs) {
      throw new UnimplementedError(
        `${path}: ${JSON.stringify(name)} is ${dtype}, and the runtime's JavaScript interface has ` +
          'no tensors of that dtype; cast inside of the function that is saved',
      );
    }
  }
}

function checkPorts(onnx: OnnxFile, graph: GraphEntry): void {
  const refuse = (problem: string): never => {
    throw new BundleError(
      `${onnx.path}: ${problem}; the files do not belong together: copy or save the bundle again`,
    );
  };
  const required = [...onnx.inputs.keys()].filter((name) => !onnx.initializers.has(name)).sort();
  const described = graph.inputs.map((i) => i.name).sort();
  if (String(required) !== String(described) || required.length !== described.length) {
    refuse(`it has the inputs ${listed(required)}, the manifest says ${listed(described)}`);
  }
  for (const [kind, ports, found] of [
    ['input', graph.inputs, onnx.inputs],
    ['output', graph.outputs, onnx.outputs],
  ] as const) {
    for (const { name, dtype } of ports) {
      const number = found.get(name);
      // 0: the file leaves it to inference, and the run will tell.
      if (number !== 0 && number !== elementType(dtype).number) {
        const came = number === undefined ? 'is not there' : `is ${typeName(number)}`;
        refuse(`${kind} ${JSON.stringify(name)} ${came}, the manifest says ${dtype}`);
      }
    }
  }
}

function typeName(number: number): string {
  return BY_NUMBER.get(number)?.name ?? `of ONNX's type ${number}`;
}

/** The initializer must be the variable: the same bytes, not only a tensor of that name. */
function checkFrozen(onnx: OnnxFile, name: string, id: number, sources: Sources): void {
  const variable = sources.manifest.variables[id] as VariableEntry;
  const stored = sources.entry(variable.storage);
  const found = onnx.initializers.get(name);
  const refuse = (problem: string): never => {
    throw new BundleError(
      `${onnx.path}: initializer ${JSON.stringify(name)} ${problem}, but variable ` +
        `${JSON.stringify(variable.name)} is ${describe(stored.dtype, stored.shape)} at ` +
        `${stored.offset} of ${JSON.stringify(variable.storage.file)}; copy or save the bundle again`,
    );
  };
  if (!found) return refuse('is not there');
  if (typeName(found.dtype) !== stored.dtype || String(found.shape) !== String(stored.shape)) {
    refuse(`is ${describe(typeName(found.dtype), found.shape)}`);
  }
  const place = found.external;
  if (
    place &&
    (place.location !== variable.storage.file ||
      place.offset !== stored.offset ||
      place.length !== stored.nbytes)
  ) {
    refuse(`takes ${place.length} bytes at ${place.offset} of ${JSON.stringify(place.location)}`);
  }
}

/** What the session will read of files of weights, or be fed with from them. */
function* used(
  graph: GraphEntry,
  fed: GraphEntry['frozen'],
  external: ReadonlyMap<string, readonly External[]>,
  sources: Sources,
): Iterable<Range> {
  const { variables, constants } = sources.manifest;
  for (const [file, places] of external) {
    for (const { offset, length } of places) yield { file, offset, length };
  }
  for (const { source, index } of graph.inputs) {
    const table = source === 'variable' ? variables : source === 'constant' ? constants : [];
    const storage = table[index]?.storage;
    if (storage) yield sources.range(storage);
  }
  for (const { variable } of fed) {
    yield sources.range((variables[variable] as VariableEntry).storage);
  }
}

/** Check where weights are read from, and return what will be, by file. */
function checkExternal(
  onnx: OnnxFile,
  replaced: ReadonlySet<string>,
  sources: Sources,
): Map<string, External[]> {
  const found = new Map<string, External[]>();
  for (const item of onnx.initializers.values()) {
    if (!item.external) continue;
    checkPlace(item, item.external, onnx.path, sources);
    if (replaced.has(item.name)) continue;
    const { location } = item.external;
    found.set(location, [...(found.get(location) ?? []), item.external]);
  }
  return found;
}

function checkPlace(item: Initializer, place: External, path: string, sources: Sources): void {
  const where = `${path}: initializer ${JSON.stringify(item.name)}`;
  const file = sources.files.get(place.location);
  if (!file) {
    throw new BundleError(
      `${where} has its data in ${JSON.stringify(place.location.slice(0, 200))}, which is no file ` +
        'of the bundle; save the bundle again',
    );
  }
  const bits = BY_NUMBER.get(item.dtype)?.bits ?? 0;
  const expected = Math.ceil((sizeOf(item.shape) * bits) / 8);
  // Runtimes fail on tensors without elements that are outside.
  const good =
    bits > 0 && expected > 0 && item.shape.every((dim) => Number.isSafeInteger(dim) && dim >= 0);
  if (!good || place.length !== expected || place.offset + place.length > file.size) {
    throw new BundleError(
      `${where} takes ${place.length} bytes at ${place.offset} of ${JSON.stringify(place.location)}, ` +
        `expected ${expected} bytes inside the file's ${file.size}; save the bundle again`,
    );
  }
}

async function compiled(
  data: Uint8Array,
  onnx: OnnxFile,
  sources: Sources,
  external: ReadonlyMap<string, readonly External[]>,
): Promise<RuntimeSession> {
  await checkUnchanged(external, sources);
  const { files, runtime } = sources.platform;
  const read = (path: string) => files.readRange(path, 0, sources.files.get(path)?.size ?? 0);
  let session: RuntimeSession;
  try {
    // ONNX Runtime 1.31 may end the process when it folds a branch on a constant.
    session = await runtime.compile(data, { external, read, folds: !onnx.hasBranches });
  } catch (error) {
    throw compileError(error, onnx.path);
  }
  await checkUnchanged(external, sources);
  return session;
}

async function checkUnchanged(
  files: ReadonlyMap<string, unknown>,
  sources: Sources,
): Promise<void> {
  for (const file of files.keys()) {
    if (!(await sources.platform.files.isUnchanged(file))) {
      throw new AbortedError(
        `${sources.path(file)}: replaced on disk since the bundle was opened; open it again`,
      );
    }
  }
}

/** What runtimes say of operators and dtypes that they have no kernels for. */
export const LACKS =
  /is not a registered function\/op|Could not find an implementation|NOT_IMPLEMENTED|not implemented|not supported yet|tensor type \d+ is not supported/i;

const OUT_OF_MEMORY = /bad_alloc|out of memory|allocation failed|failed to allocate/i;

function compileError(error: unknown, path: string): Error {
  if (error instanceof OpError) return error;
  const text = reason(error);
  if (LACKS.test(text)) {
    return new UnimplementedError(
      `${path}: the runtime lacks an operator that it uses (${text}); upgrade it, or use another build`,
    );
  }
  if (text.includes('no available backend')) {
    return new UnimplementedError(
      `the runtime cannot be started (${text}); check that its .wasm and .mjs files are served ` +
        'where ort.env.wasm.wasmPaths says, and that this build of it has the device',
    );
  }
  if (OUT_OF_MEMORY.test(text)) {
    return new ResourceExhaustedError(`${path}: not enough memory to open it (${text})`);
  }
  if (TOO_NEW.test(text)) {
    return new UnsupportedVersionError(`${path}: too new for the runtime (${text}); upgrade it`);
  }
  return new BundleError(
    `${path}: ONNX Runtime cannot load it (${text}); the file is damaged or was made by another ` +
      'program: copy or save the bundle again',
  );
}

function runError(error: unknown, what: string, lines: Lines): Error {
  const text = reason(error);
  const node = /Name:'([^']*)'/.exec(text)?.[1];
  const cause = text.split('Status Message:').at(-1)?.trim() ?? text;
  const source = node === undefined ? null : lines.of(node);
  const at = node === undefined ? '' : ` at node '${node}'${source === null ? '' : ` (${source})`}`;
  const kind = OUT_OF_MEMORY.test(text)
    ? ResourceExhaustedError
    : /device does not support|NOT_IMPLEMENTED/.test(text)
      ? UnimplementedError
      : InvalidArgumentError;
  return new kind(`${what} failed${at}: ${cause}`, { cause: error });
}

/** A name stands for one size in the whole call. */
export function checkDimensions(
  what: string,
  specs: readonly TensorSpec[],
  tensors: readonly Tensor[],
): void {
  const sizes = new Map<string, readonly [number, string]>();
  specs.forEach((spec, i) => {
    const shape = (tensors[i] as Tensor).shape;
    spec.shape?.forEach((dim, axis) => {
      if (typeof dim !== 'string') return;
      const size = shape[axis] as number;
      const [known, other] = sizes.get(dim) ?? [size, spec.name];
      sizes.set(dim, [known, other]);
      if (known !== size) {
        const label = isAutomatic(dim) ? 'a dimension' : `dimension ${JSON.stringify(dim)}`;
        throw new InvalidArgumentError(
          `${what}: input ${JSON.stringify(spec.name)} has ${size} for ${label} (axis ${axis}), but ` +
            `input ${JSON.stringify(other)} has ${known}; expected the same size`,
        );
      }
    });
  });
}
