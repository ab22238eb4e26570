/**
 * An ONNX file of a bundle, before the runtime sees it.
 *
 * Answers the questions whose wrong answer would make the runtime read where it must not, or never
 * come back: where tensors' bytes are, and how far local functions expand. And it can make
 * initializers inputs. The numbers of fields are those of onnx.proto.
 */

import { elementType, type Shape, type DType } from './dtypes.js';
import { BundleError } from './errors.js';
import { encode, Tensor } from './tensor.js';
import { MAX_EXPANDED_NODES, MAX_GRAPH_DEPTH } from './limits.js';
import {
  bytesField,
  type Field,
  fields,
  joined,
  numberField,
  textField,
  WireError,
} from './wire.js';

/** Where the bytes of a tensor are: in a file below the model's folder. */
export interface External {
  readonly location: string;
  readonly offset: number;
  readonly length: number;
}

/** A constant of the main graph; `field` is its place in the graph. */
export interface Initializer {
  readonly name: string;
  readonly dtype: number;
  readonly shape: readonly number[];
  readonly external: External | null;
  readonly field: Field;
}

/** Lines of the author's program, by the name of the node that they made. */
export class Lines {
  constructor(private readonly sources: ReadonlyMap<string, string>) {}

  /** The line that made a node; the runtime renames the nodes of local functions. */
  of(node: string): string | null {
    const found = this.sources.get(node);
    if (found !== undefined || !node.startsWith('_inlfunc_')) return found ?? null;
    for (const [name, source] of this.sources) if (node.endsWith(`_${name}`)) return source;
    return null;
  }
}

/** The metadata of a node that says which line of a program made it. */
const SOURCE_KEY = 'tfx.source';

/** How often each operator is used in a graph or function, and in the graphs inside it. */
interface Body {
  nodes: number;
  readonly operators: Map<string, number>;
}

export class OnnxFile {
  /** ONNX's number of the dtype of each input and output of the main graph (0: not said). */
  readonly inputs = new Map<string, number>();
  readonly outputs = new Map<string, number>();
  readonly initializers = new Map<string, Initializer>();
  /** Whether there is an `If` anywhere. */
  hasBranches = false;
  /** Lines of the author's program, by the name of the node that they made. */
  private readonly sources = new Map<string, string>();
  private graph: Field | null = null;

  /**
   * @param data The content of the file.
   * @param path The file, for messages.
   * @throws BundleError it is no ONNX model, or one that must not be run.
   */
  constructor(
    readonly data: Uint8Array,
    readonly path: string,
  ) {
    try {
      this.walkModel();
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      throw this.refused(`not an ONNX model (${error.message}); the file is damaged`);
    }
  }

  /** The model with some initializers turned into inputs. */
  withInputs(changed: ReadonlyMap<string, { dtype: DType; shape: Shape }>): Uint8Array {
    const graph = this.graph as Field;
    const content = graph.bytes();
    const parts: Uint8Array[] = [];
    let position = 0;
    for (const item of this.initializers.values()) {
      if (!changed.has(item.name)) continue;
      parts.push(content.subarray(position, item.field.start));
      position = item.field.end;
    }
    parts.push(content.subarray(position));
    for (const [name, { dtype, shape }] of changed) {
      if (!this.inputs.has(name)) parts.push(bytesField(11, valueInfo(name, dtype, shape)));
    }
    return joined(
      this.data.subarray(0, graph.start),
      bytesField(7, joined(...parts)),
      this.data.subarray(graph.end),
    );
  }

  /** The model with other values in initializers that lie inside of it. */
  withValues(values: ReadonlyMap<string, Tensor>): Uint8Array {
    return this.withInitializers((item) => {
      const value = values.get(item.name);
      return value ? tensorProto(item, value) : null;
    });
  }

  /** The model with the bytes of its tensors in other places. */
  withPlaces(placed: (place: External) => External): Uint8Array {
    return this.withInitializers(({ field, external }) => {
      if (!external) return null;
      const { location, offset, length } = placed(external);
      const content = field.bytes();
      const kept = fields(content).filter((item) => item.number !== 13);
      const entries = Object.entries({ location, offset, length });
      return joined(
        ...kept.map((item) => content.subarray(item.start, item.end)),
        ...entries.map(([key, value]) =>
          bytesField(13, joined(textField(1, key), textField(2, String(value)))),
        ),
      );
    });
  }

  /** The model with other initializers in the places of some. */
  private withInitializers(changed: (item: Initializer) => Uint8Array | null): Uint8Array {
    const graph = this.graph as Field;
    const content = graph.bytes();
    const parts: Uint8Array[] = [];
    let position = 0;
    for (const item of this.initializers.values()) {
      const fresh = changed(item);
      if (!fresh) continue;
      parts.push(content.subarray(position, item.field.start), bytesField(5, fresh));
      position = item.field.end;
    }
    parts.push(content.subarray(position));
    return joined(
      this.data.subarray(0, graph.start),
      bytesField(7, joined(...parts)),
      this.data.subarray(graph.end),
    );
  }

  /** The model without some initializers and without the name of what wrote it, to be compared. */
  without(names: ReadonlySet<string>): Uint8Array {
    const graph = this.graph as Field;
    const kept = (all: readonly Field[], data: Uint8Array, drops: (field: Field) => boolean) =>
      joined(...all.filter((f) => !drops(f)).map((f) => data.subarray(f.start, f.end)));
    const dropped = new Set([...names].map((name) => this.initializers.get(name)?.field.start));
    const content = graph.bytes();
    const core = kept(fields(content), content, (f) => f.number === 5 && dropped.has(f.start));
    const rest = kept(fields(this.data), this.data, (f) => [2, 3, 7].includes(f.number));
    return joined(rest, core);
  }

  /** The lines of the author's program; the file itself can be let go of. */
  lines(): Lines {
    return new Lines(this.sources);
  }

  private refused(problem: string): BundleError {
    return new BundleError(`${this.path}: ${problem}: copy or save the bundle again`);
  }

  private walkModel(): void {
    const main: Body = { nodes: 0, operators: new Map() };
    const functions = new Map<string, Body>();
    for (const item of fields(this.data)) {
      if (item.number === 7) {
        if (this.graph) throw this.refused('it has two main graphs, expected one');
        this.graph = item;
        this.walkGraph(item, main, 0);
      } else if (item.number === 25) {
        const [key, body] = this.walkFunction(item);
        if (functions.has(key)) throw this.refused(`two local functions are named ${key}`);
        functions.set(key, body);
      }
    }
    if (!this.graph) throw this.refused('it has no graph; it is not an ONNX model');
    this.checkExpansion(main, functions);
  }

  private walkGraph(graph: Field, body: Body, depth: number): void {
    if (depth > MAX_GRAPH_DEPTH) {
      throw this.refused(`graphs are nested more than ${MAX_GRAPH_DEPTH} deep`);
    }
    for (const item of fields(graph.bytes())) {
      if (item.number === 1) this.walkNode(item, body, depth);
      else if (item.number === 5) this.addInitializer(item, depth);
      else if (item.number === 15) this.walkSparse(item);
      else if (depth === 0 && (item.number === 11 || item.number === 12)) {
        const [name, dtype] = valueType(item);
        (item.number === 11 ? this.inputs : this.outputs).set(name, dtype);
      }
    }
  }

  private addInitializer(field: Field, depth: number): void {
    const tensor = this.tensor(field);
    if (depth > 0) {
      this.noExternal(tensor);
    } else if (this.initializers.has(tensor.name)) {
      throw this.refused(`two initializers are named ${JSON.stringify(tensor.name)}`);
    } else {
      this.initializers.set(tensor.name, tensor);
    }
  }

  private walkNode(node: Field, body: Body, depth: number): void {
    body.nodes++;
    let source = '';
    const text = new Map<number, string>();
    for (const item of fields(node.bytes())) {
      if (item.number === 5) this.walkAttribute(item, body, depth);
      else if ([3, 4, 7, 8].includes(item.number)) text.set(item.number, item.text());
      else if (item.number === 9) {
        const [key, value] = pair(item);
        if (key === SOURCE_KEY) source = value;
      }
    }
    const name = text.get(3);
    if (source && name) this.sources.set(name, source);
    if (text.get(4) === 'If') this.hasBranches = true;
    const key = operator(text.get(7), text.get(4), text.get(8));
    body.operators.set(key, (body.operators.get(key) ?? 0) + 1);
  }

  private walkAttribute(attribute: Field, body: Body, depth: number): void {
    for (const item of fields(attribute.bytes())) {
      if (item.number === 6 || item.number === 11) this.walkGraph(item, body, depth + 1);
      else if (item.number === 5 || item.number === 10) this.noExternal(this.tensor(item));
      else if (item.number === 22 || item.number === 23) this.walkSparse(item);
    }
  }

  private walkSparse(sparse: Field): void {
    for (const item of fields(sparse.bytes())) {
      if (item.number === 1 || item.number === 2) this.noExternal(this.tensor(item));
    }
  }

  private walkFunction(field: Field): [string, Body] {
    const body: Body = { nodes: 0, operators: new Map() };
    const text = new Map<number, string>();
    for (const item of fields(field.bytes())) {
      if (item.number === 7) this.walkNode(item, body, 1);
      else if (item.number === 11) this.walkAttribute(item, body, 1);
      else if ([1, 10, 13].includes(item.number)) text.set(item.number, item.text());
    }
    return [operator(text.get(10), text.get(1), text.get(13)), body];
  }

  private noExternal(tensor: Initializer): void {
    if (tensor.external) {
      throw this.refused(
        `tensor ${JSON.stringify(tensor.name)} has external data, expected that of initializers ` +
          'of the main graph only',
      );
    }
  }

  private tensor(field: Field): Initializer {
    let [name, dtype, isExternal] = ['', 0, false];
    const shape: number[] = [];
    const entries: [string, string][] = [];
    for (const item of fields(field.bytes())) {
      if (item.number === 1) shape.push(...item.numbers().map(Number));
      else if (item.number === 2) dtype = item.number53();
      else if (item.number === 8) name = item.text();
      else if (item.number === 13) entries.push(pair(item));
      else if (item.number === 14) isExternal = item.number53() === 1;
    }
    const external = isExternal || entries.length ? this.external(name, entries) : null;
    return { name, dtype, shape, external, field };
  }

  private external(name: string, entries: readonly [string, string][]): External {
    const table = new Map(entries);
    const offset = table.get('offset') ?? '';
    const length = table.get('length') ?? '';
    const location = table.get('location');
    const digits = /^[0-9]{1,15}$/;
    if (
      table.size !== entries.length ||
      !location ||
      !digits.test(offset) ||
      !digits.test(length)
    ) {
      throw this.refused(
        `tensor ${JSON.stringify(name)} has external data without a location, an offset and a ` +
          'length, each once',
      );
    }
    return { location, offset: Number(offset), length: Number(length) };
  }

  /** Refuse local functions that call themselves, or each other too often. */
  private checkExpansion(main: Body, functions: ReadonlyMap<string, Body>): void {
    const sizes = new Map<string, number>();
    const expanded = (body: Body): number => {
      let total = body.nodes;
      for (const [key, count] of body.operators) total += (sizes.get(key) ?? 0) * count;
      return total;
    };
    const open = new Set<string>();
    const stack = [...main.operators.keys()].filter((key) => functions.has(key));
    while (stack.length) {
      const key = stack.at(-1) as string;
      const body = functions.get(key) as Body;
      const waiting = [...body.operators.keys()].filter((k) => functions.has(k) && !sizes.has(k));
      if (!waiting.length) {
        sizes.set(key, expanded(body));
        open.delete(key);
        stack.pop();
      } else if (open.has(key) && waiting.some((k) => open.has(k))) {
        throw this.refused(`the local function ${key} calls itself; it cannot be run`);
      } else {
        open.add(key);
        stack.push(...waiting);
      }
    }
    if (expanded(main) > MAX_EXPANDED_NODES) {
      throw this.refused(
        `it has ${expanded(main)} nodes once its local functions are inlined, limit ` +
          `${MAX_EXPANDED_NODES}; it cannot be run`,
      );
    }
  }
}

function operator(domain = '', name = '', overload = ''): string {
  return JSON.stringify([domain === 'ai.onnx' ? '' : domain, name, overload]);
}

function pair(entry: Field): [string, string] {
  const text = new Map(fields(entry.bytes()).map((item) => [item.number, item.text()]));
  return [text.get(1) ?? '', text.get(2) ?? ''];
}

/** Name and dtype of a ValueInfoProto; -1: it is no tensor. */
function valueType(value: Field): [string, number] {
  let [name, dtype] = ['', 0];
  for (const item of fields(value.bytes())) {
    if (item.number === 1) name = item.text();
    else if (item.number === 2) {
      for (const kind of fields(item.bytes())) {
        if (kind.number === 1) {
          dtype =
            fields(kind.bytes())
              .findLast((f) => f.number === 1)
              ?.number53() ?? 0;
        } else if (kind.number !== 6) dtype = -1; // 6: the denotation, which says nothing of it
      }
    }
  }
  return [name, dtype];
}

function tensorProto(item: Initializer, { data, ...tensor }: Tensor): Uint8Array {
  const head = item.shape.map((dim) => numberField(1, dim));
  head.push(numberField(2, item.dtype), textField(8, item.name));
  if (Array.isArray(data)) return joined(...head, ...data.map((text) => textField(6, text)));
  return joined(...head, bytesField(9, encode(new Tensor(tensor.dtype, data, tensor.shape))));
}

function valueInfo(name: string, dtype: DType, shape: Shape): Uint8Array {
  const parts = [numberField(1, elementType(dtype).number)];
  if (shape) {
    // A name would tie the dimension to others of that name in the graph: sizes only.
    const dims = shape.map((d) =>
      bytesField(1, typeof d === 'number' ? numberField(1, d) : new Uint8Array()),
    );
    parts.push(bytesField(2, joined(...dims)));
  }
  return joined(textField(1, name), bytesField(2, bytesField(1, joined(...parts))));
}
