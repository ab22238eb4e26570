/** Checkpoints on disk: one file, or shards with an index. */

import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';

import type { CheckpointFile, CheckpointPart } from './checkpoint.js';
import { BundleError, NotFoundError, reason } from './errors.js';
import { guarded, replaceFile } from './folder.js';
import { MAX_TENSOR_HEADER_BYTES } from './limits.js';
import { checkPath } from './paths.js';

const SUFFIX = '.safetensors';
const INDEX_SUFFIX = '.safetensors.index.json';

/** The files of a checkpoint: the single file counts if both forms are there. */
export function checkpointFiles(place: string): string[] {
  if (place.endsWith(INDEX_SUFFIX)) return shardFiles(place);
  for (const file of [place, `${place}${SUFFIX}`]) if (isFile(file)) return [file];
  const index = `${place}${INDEX_SUFFIX}`;
  if (isFile(index)) return shardFiles(index);
  throw new NotFoundError(`${place}: no such checkpoint`);
}

function isFile(file: string): boolean {
  const look = () => fs.statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
  return guarded(file, look, 'read');
}

function shardFiles(index: string): string[] {
  const folder = path.dirname(index);
  return [...new Set(Object.values(readIndex(index)))].sort().map((f) => path.join(folder, f));
}

/** Which file a tensor is in, by key. */
function readIndex(index: string): Record<string, string> {
  const { size } = fs.statSync(index);
  if (size > MAX_TENSOR_HEADER_BYTES) {
    throw new BundleError(`${index}: ${size} bytes, limit ${MAX_TENSOR_HEADER_BYTES}`);
  }
  const text = guarded(index, () => fs.readFileSync(index, 'utf8'), 'read');
  let table: unknown;
  try {
    table = (JSON.parse(text) as { weight_map?: unknown }).weight_map;
  } catch (error) {
    throw new BundleError(`${index}: not JSON (${reason(error)}); the file is damaged`);
  }
  const isTable = typeof table === 'object' && table !== null;
  if (!isTable || !Object.values(table as object).every((f) => typeof f === 'string')) {
    throw new BundleError(`${index}: no weight_map, expected an object of file names by key`);
  }
  for (const file of Object.values(table as Record<string, string>)) checkPath(file, index);
  return table as Record<string, string>;
}

/** An open file. */
export interface OpenPart extends CheckpointPart {
  close(): void;
}

/** Open files; what was opened is what is read, whatever takes its name. */
export function openFiles(files: readonly string[]): OpenPart[] {
  const parts: OpenPart[] = [];
  try {
    for (const file of files) parts.push(openPart(file));
  } catch (error) {
    for (const part of parts) part.close();
    throw error;
  }
  return parts;
}

function openPart(where: string): OpenPart {
  if (!isFile(where)) throw new NotFoundError(`${where}: no such file of the checkpoint`);
  const descriptor = guarded(where, () => fs.openSync(where, 'r'), 'read');
  const { size } = fs.fstatSync(descriptor);
  const read = (offset: number, length: number): Uint8Array => {
    const data = new Uint8Array(length);
    for (let done = 0; done < length;) {
      const most = Math.min(length - done, 1 << 30);
      const count = fs.readSync(descriptor, data, done, most, offset + done);
      if (!count) throw new BundleError(`${where}: it ends early, it was truncated`);
      done += count;
    }
    return data;
  };
  const close = () => {
    fs.closeSync(descriptor);
  };
  return { where, size, read, close };
}

/**
 * Write a checkpoint, or replace it; an older one is what is read until the last step.
 *
 * @returns The file that is to be opened.
 */
export function writeCheckpoint(stem: string, files: readonly CheckpointFile[]): string {
  const old = oldShards(stem);
  const [single, index] = [`${stem}${SUFFIX}`, `${stem}${INDEX_SUFFIX}`];
  if (files.length === 1) {
    replaceFile(single, (files[0] as CheckpointFile).parts);
    removeAll([index, ...old]);
    return single;
  }
  const mark = randomBytes(8).toString('hex');
  const number = (n: number) => String(n).padStart(5, '0');
  const names = files.map(
    (_, i) => `${stem}.${mark}-${number(i + 1)}-of-${number(files.length)}${SUFFIX}`,
  );
  try {
    files.forEach(({ parts }, i) => {
      replaceFile(names[i] as string, parts);
    });
    replaceFile(index, [new TextEncoder().encode(indexText(files, names))]);
  } catch (error) {
    removeAll(names);
    throw error;
  }
  removeAll([single, ...old]);
  return index;
}

function indexText(files: readonly CheckpointFile[], names: readonly string[]): string {
  const places = files.flatMap(({ keys }, i) =>
    keys.map((key) => [key, path.basename(names[i] as string)] as const),
  );
  const table = {
    metadata: { total_size: files.reduce((n, file) => n + file.nbytes, 0) },
    weight_map: Object.fromEntries(places),
  };
  return `${JSON.stringify(table, null, 2)}\n`;
}

/** The shards that a checkpoint has now; only names that are given here or in Python count. */
function oldShards(stem: string): string[] {
  const name = path.basename(stem);
  const ending = /^\.[0-9a-f]{16}-\d{5}-of-\d{5}\.safetensors$/;
  try {
    return shardFiles(`${stem}${INDEX_SUFFIX}`).filter((file) => {
      const base = path.basename(file);
      return base.startsWith(name) && ending.test(base.slice(name.length));
    });
  } catch {
    return [];
  }
}

/** Failing to tidy up is no failure to save. */
function removeAll(files: readonly string[]): void {
  for (const file of files) {
    try {
      fs.rmSync(file, { force: true });
    } catch {
      // the next save tries again
    }
  }
}
