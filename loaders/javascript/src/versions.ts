/**
 * Whether a bundle is another version of an open one: the same graphs over other variables.
 *
 * All that a call can meet must be equal, so that a session that is open for one version computes
 * what the other one says.
 */

import { describe } from './dtypes.js';
import { FailedPreconditionError, listed } from './errors.js';
import type { ConstantEntry, GraphEntry, Manifest, VariableEntry } from './manifest.js';
import { OnnxFile } from './onnx_file.js';
import type { Sources } from './sources.js';
import { encode, type Tensor } from './tensor.js';

/**
 * Refuse a bundle whose variables cannot be swapped into an open one.
 *
 * @throws FailedPreconditionError the bundles differ in more than the values of variables.
 */
export async function requireSameGraphs(old: Sources, fresh: Sources): Promise<void> {
  const problem =
    variableProblem(old.manifest.variables, fresh.manifest.variables) ??
    functionProblem(old.manifest, fresh.manifest) ??
    constantProblem(old, fresh) ??
    (await graphProblem(old, fresh));
  if (problem === null) return;
  const { where } = fresh.platform.files;
  throw new FailedPreconditionError(
    `${where} cannot be reloaded into the open bundle of ${old.platform.files.where}: ${problem}; ` +
      'open it as a bundle of its own',
  );
}

function variableProblem(
  old: readonly VariableEntry[],
  fresh: readonly VariableEntry[],
): string | null {
  const theirs = new Map(fresh.map((v) => [v.name, v]));
  for (const { name, dtype, shape } of old) {
    const now = theirs.get(name);
    if (!now) return `it has no variable ${JSON.stringify(name)}`;
    const [before, after] = [describe(dtype, shape), describe(now.dtype, now.shape)];
    if (before !== after)
      return `variable ${JSON.stringify(name)} is ${after} there, ${before} here`;
  }
  const known = new Set(old.map((v) => v.name));
  const more = fresh.find((v) => !known.has(v.name));
  if (more)
    return `it has the variable ${JSON.stringify(more.name)}, which the open bundle has not`;
  return old.every((v, i) => v.name === fresh[i]?.name)
    ? null
    : 'its variables come in another order';
}

function functionProblem(old: Manifest, fresh: Manifest): string | null {
  const names = (manifest: Manifest) => manifest.signatures.map((s) => s.name).sort();
  if (String(names(old)) !== String(names(fresh))) {
    return `it has the signatures ${listed(names(fresh))}, the open bundle ${listed(names(old))}`;
  }
  const [ours, theirs] = [old.concreteFunctions, fresh.concreteFunctions];
  if (ours.length !== theirs.length) {
    return `it has ${theirs.length} traces of functions, the open bundle ${ours.length}`;
  }
  const other = ours.find((f, i) => JSON.stringify(f) !== JSON.stringify(theirs[i]));
  if (other)
    return `the function ${JSON.stringify(other.name)} takes or returns something else there`;
  const table = new Map(fresh.signatures.map((s) => [s.name, JSON.stringify(s)]));
  const changed = old.signatures.find((s) => table.get(s.name) !== JSON.stringify(s));
  return changed
    ? `the signature ${JSON.stringify(changed.name)} takes or returns something else there`
    : null;
}

function constantProblem(old: Sources, fresh: Sources): string | null {
  const [ours, theirs] = [old.manifest.constants, fresh.manifest.constants];
  if (ours.length !== theirs.length) {
    return `it has ${theirs.length} constants, here are ${ours.length}`;
  }
  const isOther = ({ name, dtype }: ConstantEntry, i: number) =>
    name !== theirs[i]?.name ||
    dtype !== theirs[i].dtype ||
    !isSame(old.constant(i).tensor, fresh.constant(i).tensor);
  const other = ours.find(isOther);
  if (other) return `the constant ${JSON.stringify(other.name)} is another one there`;
  return storedProblem(old, fresh);
}

/** Constants that graphs name by their places beside the variables. */
function storedProblem(old: Sources, fresh: Sources): string | null {
  const { variables, constants } = old.manifest;
  const isVariable = new Set(variables.map(({ storage: { file, key } }) => `${file}\0${key}`));
  const files = [...variables, ...constants].flatMap(({ storage }) => storage?.file ?? []);
  for (const file of new Set(files)) {
    if (!fresh.files.has(file)) return `its weights are not in ${JSON.stringify(file)}`;
    const theirs = fresh.header(file).tensors;
    for (const key of old.header(file).tensors.keys()) {
      if (isVariable.has(`${file}\0${key}`)) continue;
      const storage = { file, key };
      if (!theirs.has(key) || !isSame(old.tensor(storage), fresh.tensor(storage))) {
        return `the constant ${JSON.stringify(key)} has another value there`;
      }
    }
  }
  return null;
}

/** Bytes are compared: NaN must equal itself, and 0.0 is not -0.0. */
function isSame(one: Tensor, other: Tensor): boolean {
  return (
    describe(one.dtype, one.shape) === describe(other.dtype, other.shape) &&
    isEqual(encode(one), encode(other))
  );
}

function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, i) => byte === other[i]);
}

async function graphProblem(old: Sources, fresh: Sources): Promise<string | null> {
  for (const { graph, liveGraph } of old.manifest.concreteFunctions) {
    for (const form of [graph, liveGraph]) {
      if (!form) continue;
      const hashes = [old, fresh].map((s) => s.files.get(form.file)?.sha256 ?? new Uint8Array());
      if (isEqual(...(hashes as [Uint8Array, Uint8Array]))) continue;
      const theirs = await core(fresh, form);
      // If the old file has gone too, nobody can say that they are the same.
      const ours = await core(old, form).catch(() => null);
      if (!ours || !isEqual(ours, theirs)) {
        return `the graph ${JSON.stringify(form.file)} is another one there`;
      }
    }
  }
  return null;
}

async function core(sources: Sources, { file, frozen }: GraphEntry): Promise<Uint8Array> {
  const onnx = new OnnxFile(await sources.readGraph(file), sources.path(file));
  return onnx.without(new Set(frozen.map(({ name }) => name)));
}
