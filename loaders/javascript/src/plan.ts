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
  reason,
  UnimplementedError,
  UnsupportedVersionError,
} from './errors.js';
import type { GraphEntry, Port, VariableEntry } from './manifest.js';
import { type External, type Initializer, type Lines, OnnxFile } from './onnx_file.js';
import type { RuntimeSession, RuntimeTensor } from './platform.js';
import type { Sources } from './sources.js';
import { type Snapshot, Value } from './state.js';
import { Tensor } from './tensor.js';

/** What a run gave. */
export interface RunResult {
  readonly results: ReadonlyMap<number, Tensor>;
  readonly updates: ReadonlyMap<number, Value>;
}

export class Plan {
  private constructor(
    private readonly sources: Sources,
    private readonly graph: GraphEntry,
    private readonly variables: readonly (readonly [string, number])[],
    private readonly session: RuntimeSession,
    private readonly lines: Lines,
  ) {}

  /**
   * Check the file and compile it.
   *
   * @param thaw Whether the variables that the graph has as initializers become inputs.
   * @throws BundleError the file is damaged, or is not what the manifest says.
   */
  static async open(sources: Sources, graph: GraphEntry, thaw = false): Promise<Plan> {
    const { manifest } = sources;
    const onnx = new OnnxFile(await sources.readGraph(graph.file), sources.path(graph.file));
    checkDTypes(graph, onnx.path);
    checkPorts(onnx, graph);
    for (const { name, variable } of graph.frozen) checkFrozen(onnx, name, variable, sources);
    const thawed = new Map(
      (thaw ? graph.frozen : []).map((f) => [
        f.name,
        manifest.variables[f.variable] as VariableEntry,
      ]),
    );
    const external = checkExternal(onnx, thawed, sources);
    const session = await compiled(
      thawed.size ? onnx.withInputs(thawed) : onnx.data,
      onnx,
      sources,
      external,
    );
    const variables = [
      ...graph.inputs.filter((i) => i.source === 'variable').map((i) => [i.name, i.index] as const),
      ...(thaw ? graph.frozen.map((f) => [f.name, f.variable] as const) : []),
    ];
    return new Plan(sources, graph, variables, session, onnx.lines());
  }

  /**
   * Run the graph.
   *
   * @param args The argument leaves by number.
   * @param what The function, for messages.
   */
  async run(args: readonly Tensor[], snapshot: Snapshot, what: string): Promise<RunResult> {
    const { runtime } = this.sources.platform;
    const feeds: Record<string, RuntimeTensor> = {};
    for (const port of this.graph.inputs) {
      if (port.source === 'argument') {
        const { dtype, data, shape } = args[port.index] as Tensor;
        feeds[port.name] = runtime.tensor(dtype, data, shape);
      } else if (port.source === 'constant') {
        feeds[port.name] = this.sources.constant(port.index).raw(runtime);
      }
    }
    for (const [name, id] of this.variables) {
      feeds[name] = (snapshot.values[id] as Value).raw(runtime);
    }
    const fetches = this.graph.outputs.map((o) => o.name);
    let found: Record<string, RuntimeTensor>;
    try {
      found = await this.session.run(feeds, fetches);
    } catch (error) {
      throw runError(error, what, this.lines);
    }
    const results = new Map<number, Tensor>();
    const updates = new Map<number, Value>();
    for (const port of this.graph.outputs) {
      const raw = found[port.name];
      const tensor = this.output(port, raw, what, feeds[port.name] !== undefined);
      if (port.source === 'result') results.set(port.index, tensor);
      else updates.set(port.index, Value.of(tensor));
    }
    return { results, updates };
  }

  async release(): Promise<void> {
    await this.session.release();
  }

  /** Check an output, and copy it if its memory is that of an input. */
  private output(
    port: Port,
    raw: RuntimeTensor | undefined,
    what: string,
    isInput: boolean,
  ): Tensor {
    const variable =
      port.source === 'variable' ? this.sources.manifest.variables[port.index] : undefined;
    const wanted: TensorSpec = variable ?? port;
    const isWanted = raw?.type === wanted.dtype && (!variable || fits(raw.dims, variable.shape));
    if (!isWanted) {
      const came = raw ? describe(raw.type, raw.dims) : 'nothing';
      throw new InvalidArgumentError(
        `${what}: output ${JSON.stringify(port.name)} came as ${came}, expected ` +
          `${describe(wanted.dtype, wanted.shape)}; the variables were left as they were`,
      );
    }
    const data = raw.data as Tensor['data'];
    const tensor = new Tensor(wanted.dtype, data, [...raw.dims]);
    return isInput ? tensor.copy() : tensor;
  }
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

/** Check where weights are read from, and return what will be, by file. */
function checkExternal(
  onnx: OnnxFile,
  thawed: ReadonlyMap<string, unknown>,
  sources: Sources,
): Map<string, External[]> {
  const found = new Map<string, External[]>();
  for (const item of onnx.initializers.values()) {
    if (!item.external) continue;
    checkPlace(item, item.external, onnx.path, sources);
    if (thawed.has(item.name)) continue;
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
  const good = bits > 0 && item.shape.every((dim) => Number.isSafeInteger(dim) && dim >= 0);
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

function compileError(error: unknown, path: string): Error {
  const text = reason(error);
  if (/is not a registered function\/op|NOT_IMPLEMENTED|not implemented/i.test(text)) {
    return new UnimplementedError(
      `${path}: the runtime lacks an operator that it uses (${text}); upgrade it`,
    );
  }
  if (text.includes('no available backend')) {
    return new UnimplementedError(
      `the runtime cannot be started (${text}); check that its .wasm and .mjs files are served ` +
        'where ort.env.wasm.wasmPaths says',
    );
  }
  if (/is under development|Unsupported model IR version/.test(text)) {
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
  return new InvalidArgumentError(`${what} failed${at}: ${cause}`, { cause: error });
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
