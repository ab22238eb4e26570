/**
 * Writing an open bundle again, with the variables as they are now.
 *
 * Graphs are copied byte for byte, but for values that they hold of variables that have changed.
 * They name their weights by file, offset and length, so each tensor that a graph refers to must
 * keep its place; where that cannot be, nothing is written.
 */

import { sumsOf } from './checksums.js';
import { FailedPreconditionError } from './errors.js';
import { HASH_ON_LOAD_BYTES } from './limits.js';
import {
  DIGEST_PREFIX,
  type FileEntry,
  graphFiles,
  type Manifest,
  type Sha256,
} from './manifest.js';
import { OnnxFile } from './onnx_file.js';
import { type Encoded, makeHeader, type TensorEntry } from './safetensors.js';
import { MANIFEST, type Sources } from './sources.js';
import type { Snapshot, Value } from './state.js';
import { encode, type Tensor } from './tensor.js';
import { bytesField, fields, fixed32sField, joined, numberField, textField } from './wire.js';

const HOW_ELSE = 'load the bundle in Python with tfx.saved_model.load and save it there';

/** A file to be written: its bytes are those of the parts, one after the other. */
export interface SavedFile {
  readonly path: string;
  readonly parts: readonly Uint8Array[];
}

/** Every file of the bundle, with the variables of a snapshot; the manifest is the last. */
export async function* savedFiles(
  sources: Sources,
  snapshot: Snapshot,
): AsyncGenerator<SavedFile, void, undefined> {
  const { manifest, platform } = sources;
  const graphs = new Map<string, OnnxFile>();
  for (const file of graphFiles(manifest)) {
    graphs.set(file, new OnnxFile(await sources.readGraph(file), sources.path(file)));
  }
  const held = heldValues(manifest, graphs, snapshot);
  const stored = new Map<string, Map<string, Value>>();
  manifest.variables.forEach(({ storage }, id) => {
    const table = stored.get(storage.file) ?? new Map<string, Value>();
    stored.set(storage.file, table);
    if (snapshot.changed.has(id)) table.set(storage.key, snapshot.values[id] as Value);
  });
  // Before anything is written.
  for (const [path, values] of stored) checkPlaces(sources, path, values, graphs);
  const entries: FileEntry[] = [];
  for (const old of manifest.files) {
    const { path } = old;
    const values = stored.get(path);
    const changed = held.get(path);
    if (!values?.size && !changed) {
      entries.push(old);
      yield { path, parts: [graphs.get(path)?.data ?? (await sources.readFile(old))] };
      continue;
    }
    if (values) await sources.check([{ file: path, offset: 0, length: old.size }]);
    const parts = values
      ? weights(sources, path, values)
      : [(graphs.get(path) as OnnxFile).withValues(changed as Map<string, Tensor>)];
    const size = parts.reduce((n, part) => n + part.length, 0);
    const needsSums = old.crc32.length > 0 || (values && size > HASH_ON_LOAD_BYTES);
    const crc32 = needsSums ? sumsOf(parts, platform.crc32) : [];
    entries.push({ path, size, sha256: await platform.sha256(...parts), crc32 });
    yield { path, parts };
  }
  yield { path: MANIFEST, parts: [await withFiles(manifest, entries, platform.sha256)] };
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

type Parts = ReadonlyMap<string, Encoded>;

/** The tensors of a file with new values of some, in the order of the file. */
function encoded(sources: Sources, path: string, values: ReadonlyMap<string, Value>): Parts {
  const { tensors } = sources.header(path);
  const { files } = sources.platform;
  const order = [...tensors].sort(([, a], [, b]) => a.offset - b.offset || a.nbytes - b.nbytes);
  return new Map(
    order.map(([key, { dtype, shape, offset, nbytes }]) => {
      const tensor = values.get(key)?.tensor;
      const bytes = tensor ? encode(tensor) : files.readRange(path, offset, nbytes);
      return [key, { dtype, shape: tensor?.shape ?? shape, bytes }];
    }),
  );
}

function weights(
  sources: Sources,
  path: string,
  values: ReadonlyMap<string, Value>,
): readonly Uint8Array[] {
  const { tensors, metadata, size } = sources.header(path);
  const parts = encoded(sources, path, values);
  const isSame = [...parts].every(([key, { bytes, shape }]) => {
    const old = tensors.get(key);
    return bytes.length === old?.nbytes && String(shape) === String(old.shape);
  });
  const header = isSame
    ? sources.platform.files.readRange(path, 0, size)
    : makeHeader(parts, metadata);
  return [header, ...[...parts.values()].map((part) => part.bytes)];
}

/** Refuse if a tensor that a graph refers to would not be where it was. */
function checkPlaces(
  sources: Sources,
  path: string,
  values: ReadonlyMap<string, Value>,
  graphs: ReadonlyMap<string, OnnxFile>,
): void {
  const { tensors, metadata } = sources.header(path);
  const isOther = ([key, value]: [string, Value]) =>
    encode(value.tensor).length !== tensors.get(key)?.nbytes ||
    String(value.tensor.shape) !== String(tensors.get(key)?.shape);
  if (![...values].some(isOther)) return;
  const parts = encoded(sources, path, values);
  const moved = new Map<string, string>();
  let position = makeHeader(parts, metadata).length;
  for (const [key, { bytes }] of parts) {
    const old = tensors.get(key) as TensorEntry;
    if (position !== old.offset || bytes.length !== old.nbytes) {
      moved.set(`${old.offset} ${old.nbytes}`, key);
    }
    position += bytes.length;
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
  const entries = files.map(({ path, size, sha256: hash, crc32 }) =>
    bytesField(
      5,
      joined(
        textField(1, path),
        size ? numberField(2, size) : new Uint8Array(),
        bytesField(3, hash),
        crc32.length ? fixed32sField(4, crc32) : new Uint8Array(),
      ),
    ),
  );
  const body = joined(...before, ...entries, ...after);
  return joined(body, DIGEST_PREFIX, await sha256(body));
}
