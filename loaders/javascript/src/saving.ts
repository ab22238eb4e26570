/**
 * Writing: an open bundle again, with the variables as they are now, and checkpoints.
 *
 * Graphs are copied byte for byte, but for values that they hold of variables that have changed.
 * They name their weights by file, offset and length, so each tensor that a graph refers to must
 * keep its place; where that cannot be, nothing is written.
 */

import { sizeOf } from './dtypes.js';
import { BundleError, FailedPreconditionError, listed, reason } from './errors.js';
import type { FileEntry, Manifest, Sha256 } from './manifest.js';
import { DIGEST_PREFIX } from './manifest.js';
import { OnnxFile } from './onnx_file.js';
import { type Encoded, headerLength, makeHeader, parseHeader } from './safetensors.js';
import { MANIFEST, type Sources } from './sources.js';
import type { Snapshot, Value } from './state.js';
import { decode, encode, type Tensor } from './tensor.js';
import { bytesField, fields, joined, numberField, textField } from './wire.js';

const HOW_ELSE = 'load the bundle in Python with tfx.saved_model.load and save it there';

/** Every file of the bundle, with the variables of a snapshot; the manifest is the last. */
export async function savedFiles(
  sources: Sources,
  snapshot: Snapshot,
): Promise<Map<string, Uint8Array>> {
  const { manifest, platform } = sources;
  const graphs = new Map<string, OnnxFile>();
  for (const { graph, liveGraph, gradientFile } of manifest.concreteFunctions) {
    for (const file of [graph.file, liveGraph?.file, gradientFile]) {
      if (file === undefined) continue;
      graphs.set(file, new OnnxFile(await sources.readGraph(file), sources.path(file)));
    }
  }
  const held = heldValues(manifest, graphs, snapshot);
  const stored = new Map<string, Map<string, Value>>();
  manifest.variables.forEach(({ storage }, id) => {
    const table = stored.get(storage.file) ?? new Map<string, Value>();
    stored.set(storage.file, table.set(storage.key, snapshot.values[id] as Value));
  });
  const found = new Map<string, Uint8Array>();
  const entries: FileEntry[] = [];
  for (const { path, ...old } of manifest.files) {
    const values = stored.get(path);
    const graph = graphs.get(path);
    const changed = held.get(path);
    let data = graph?.data ?? new Uint8Array();
    if (values) data = weights(sources, path, values, graphs);
    else if (changed) data = (graph as OnnxFile).withValues(changed);
    else if (!graph) data = await platform.files.read(path, old.size);
    const sha256 = await platform.sha256(data);
    if (!values && !changed && !sha256.every((byte, i) => byte === old.sha256[i])) {
      throw new BundleError(
        `${sources.path(path)}: it was changed or damaged; open the bundle again`,
      );
    }
    found.set(path, data);
    entries.push({ path, size: data.length, sha256 });
  }
  return found.set(MANIFEST, await withFiles(manifest, entries, platform.sha256));
}

/** What graph files hold of changed variables: by file and initializer, the new value. */
function heldValues(
  manifest: Manifest,
  graphs: ReadonlyMap<string, OnnxFile>,
  snapshot: Snapshot,
): Map<string, Map<string, Tensor>> {
  const held = new Map<string, Map<string, Tensor>>();
  for (const { graph } of manifest.concreteFunctions) {
    for (const { name, variable } of graph.frozen) {
      if (!snapshot.changed.has(variable)) continue;
      const { tensor } = snapshot.values[variable] as Value;
      const found = graphs.get(graph.file)?.initializers.get(name);
      if (String(found?.shape) !== String(tensor.shape)) {
        throw new FailedPreconditionError(
          `variable ${JSON.stringify(manifest.variables[variable]?.name)} has changed, and ` +
            `${JSON.stringify(graph.file)} was made for [${String(found?.shape)}], not ` +
            `[${tensor.shape.join(', ')}], so the file cannot be copied; ${HOW_ELSE}`,
        );
      }
      if (found?.external) continue;
      const values = held.get(graph.file) ?? new Map<string, Tensor>();
      held.set(graph.file, values.set(name, tensor));
    }
  }
  return held;
}

function weights(
  sources: Sources,
  path: string,
  values: ReadonlyMap<string, Value>,
  graphs: ReadonlyMap<string, OnnxFile>,
): Uint8Array {
  const { tensors, metadata } = sources.header(path);
  const { files } = sources.platform;
  const parts = new Map<string, Encoded>();
  const order = [...tensors].sort(([, a], [, b]) => a.offset - b.offset || a.nbytes - b.nbytes);
  let isSame = true;
  for (const [key, old] of order) {
    const tensor = values.get(key)?.tensor;
    const bytes = tensor ? encode(tensor) : files.readRange(path, old.offset, old.nbytes);
    parts.set(key, { dtype: old.dtype, shape: tensor?.shape ?? old.shape, bytes });
    isSame &&=
      bytes.length === old.nbytes && String(tensor?.shape ?? old.shape) === String(old.shape);
  }
  const begin = order[0]?.[1].offset ?? 0;
  const header =
    isSame && order.length ? files.readRange(path, 0, begin) : makeHeader(parts, metadata);
  checkPlaces(path, header.length, order, parts, graphs);
  return joined(header, ...[...parts.values()].map((part) => part.bytes));
}

/** Refuse if a tensor that a graph refers to would not be where it was. */
function checkPlaces(
  path: string,
  begin: number,
  order: readonly (readonly [string, { readonly offset: number; readonly nbytes: number }])[],
  parts: ReadonlyMap<string, Encoded>,
  graphs: ReadonlyMap<string, OnnxFile>,
): void {
  const moved = new Map<string, string>();
  let position = begin;
  for (const [key, old] of order) {
    const size = (parts.get(key) as Encoded).bytes.length;
    if (position !== old.offset || size !== old.nbytes)
      moved.set(`${old.offset} ${old.nbytes}`, key);
    position += size;
  }
  for (const graph of graphs.values()) {
    for (const { external } of graph.initializers.values()) {
      if (external?.location !== path) continue;
      const key = moved.get(`${external.offset} ${external.length}`);
      if (key === undefined) continue;
      throw new FailedPreconditionError(
        `${JSON.stringify(key)} would no longer be where ${graph.path} expects it, because a ` +
          `tensor of ${JSON.stringify(path)} has another size than when it was opened; ${HOW_ELSE}`,
      );
    }
  }
}

/** The manifest with other files; whatever else is in it stays as it is. */
async function withFiles(
  manifest: Manifest,
  files: readonly FileEntry[],
  sha256: Sha256,
): Promise<Uint8Array> {
  const { data } = manifest;
  const kept = fields(data).filter((f) => f.number !== 5 && f.number !== 20);
  const before = kept.filter((f) => f.number < 5).map((f) => data.subarray(f.start, f.end));
  const after = kept.filter((f) => f.number > 5).map((f) => data.subarray(f.start, f.end));
  const entries = files.map(({ path, size, sha256: hash }) =>
    bytesField(
      5,
      joined(
        textField(1, path),
        size ? numberField(2, size) : new Uint8Array(),
        bytesField(3, hash),
      ),
    ),
  );
  const body = joined(...before, ...entries, ...after);
  return joined(body, DIGEST_PREFIX, await sha256(body));
}

const DIGEST_KEY = 'tfx.sha256';
const NO_DIGEST = '0'.repeat(64);

/** A checkpoint file: see SPEC.md, section 11. */
export async function makeCheckpoint(
  tensors: ReadonlyMap<string, Tensor>,
  sha256: Sha256,
): Promise<Uint8Array> {
  const parts = new Map<string, Encoded>();
  const sorted = [...tensors].sort(([a], [b]) => (a < b ? -1 : 1));
  // Large elements first, so that each tensor lies at a multiple of its element's size.
  const size = (t: Tensor) => -encode(t).length / Math.max(1, sizeOf(t.shape));
  for (const [key, t] of sorted.sort(([, a], [, b]) => size(a) - size(b) || 0)) {
    parts.set(key, { dtype: t.dtype, shape: t.shape, bytes: encode(t) });
  }
  const metadata = {
    'tfx.checkpoint': '1',
    [DIGEST_KEY]: NO_DIGEST,
    'tfx.objects': JSON.stringify({ nodes: objectNodes([...tensors.keys()]) }),
  };
  const data = joined(makeHeader(parts, metadata), ...[...parts.values()].map((p) => p.bytes));
  const hash = await sha256(data);
  data.set(new TextEncoder().encode(hex(hash)), digestPlace(data));
  return data;
}

interface ObjectNode {
  children?: Record<string, number>;
  key?: string;
}

/** The object graph whose paths are the names, divided at slashes. */
function objectNodes(names: readonly string[]): ObjectNode[] {
  const nodes: ObjectNode[] = [{}];
  for (const name of names) {
    let at = 0;
    for (const part of name.split('/')) {
      const node = nodes[at] as ObjectNode;
      node.children ??= Object.create(null) as Record<string, number>;
      at = node.children[part] ??= nodes.push({}) - 1;
    }
    (nodes[at] as ObjectNode).key = name;
  }
  return nodes;
}

/** Bytes in hexadecimal. */
export function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Where the digest of a checkpoint is in its bytes. */
function digestPlace(data: Uint8Array): number {
  const length = headerLength(data, data.length, 'the checkpoint');
  const header = new TextDecoder().decode(data.subarray(8, 8 + length));
  const found = new RegExp(`"${DIGEST_KEY}":"(?=[0-9a-f]{64}")`).exec(header);
  if (!found) throw new BundleError('the checkpoint does not say its SHA-256; it was changed');
  const before = header.slice(0, found.index + found[0].length);
  return 8 + new TextEncoder().encode(before).length;
}

/** The tensors of a safetensors file, ours or another program's. */
export async function readCheckpoint(
  data: Uint8Array,
  sha256: Sha256,
): Promise<Map<string, Tensor>> {
  const where = 'the checkpoint';
  const length = headerLength(data, data.length, where);
  const { tensors, metadata } = parseHeader(data.subarray(8, 8 + length), data.length, where);
  const digest = metadata[DIGEST_KEY];
  if (digest !== undefined || metadata['tfx.checkpoint'] !== undefined) {
    const blank = new Uint8Array(data);
    blank.set(new TextEncoder().encode(NO_DIGEST), digestPlace(data));
    const hash = await sha256(blank);
    if (hex(hash) !== digest) {
      throw new BundleError('the checkpoint has another SHA-256 than it says; it was damaged');
    }
  }
  checkObjects(metadata['tfx.objects'], new Set(tensors.keys()));
  const found = new Map<string, Tensor>();
  for (const [key, { dtype, shape, offset, nbytes }] of tensors) {
    found.set(
      key,
      decode(data.subarray(offset, offset + nbytes), dtype, shape, `${where}: ${key}`),
    );
  }
  return found;
}

/** The keys of a checkpoint's object graph must be its tensors. */
function checkObjects(text: string | undefined, keys: ReadonlySet<string>): void {
  if (text === undefined) return;
  let named: string[];
  try {
    const { nodes } = JSON.parse(text) as { nodes: readonly ObjectNode[] };
    named = nodes.flatMap(({ key }) => (key === undefined ? [] : [key]));
  } catch (error) {
    throw new BundleError(`the checkpoint's object graph cannot be read (${reason(error)})`);
  }
  if (new Set(named).size !== keys.size || named.some((key) => !keys.has(key))) {
    throw new BundleError(
      `the checkpoint's object graph has the keys ${listed(named)}, its tensors are ${listed(keys)}; ` +
        'it was changed: save it again',
    );
  }
}
