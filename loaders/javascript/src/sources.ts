/**
 * The files of an open bundle: the manifest, the headers of weights, the graphs.
 *
 * A file is trusted for what was checked of it at that moment.
 */

import { compatible, describe } from './dtypes.js';
import { BundleError } from './errors.js';
import { HASH_ON_LOAD_BYTES, MAX_GRAPH_BYTES, MAX_MANIFEST_BYTES } from './limits.js';
import {
  type ConstantEntry,
  type FileEntry,
  type Manifest,
  parseManifest,
  type Storage,
  type VariableEntry,
} from './manifest.js';
import type { Platform } from './platform.js';
import { checkRuntime } from './probe.js';
import { type Header, headerLength, parseHeader, type TensorEntry } from './safetensors.js';
import { Value } from './state.js';
import { decode, type Tensor } from './tensor.js';

export const MANIFEST = 'bundle.pb';

export class Sources {
  /** What the manifest says of each file. */
  readonly files: ReadonlyMap<string, FileEntry>;
  private readonly headers = new Map<string, Header>();
  private readonly constants = new Map<number, Value>();
  private runtimeCheck: Promise<void> | null = null;

  private constructor(
    readonly platform: Platform,
    readonly manifest: Manifest,
  ) {
    this.files = new Map(manifest.files.map((entry) => [entry.path, entry]));
  }

  /**
   * Read the manifest and check the files.
   *
   * @param verify Hash every file, also the large ones.
   */
  static async open(platform: Platform, verify: boolean): Promise<Sources> {
    const { files, sha256 } = platform;
    const where = `${files.where}/${MANIFEST}`;
    const manifest = await parseManifest(
      await files.read(MANIFEST, MAX_MANIFEST_BYTES),
      where,
      sha256,
    );
    const sources = new Sources(platform, manifest);
    const stored = [...manifest.variables, ...manifest.constants].flatMap((v) => v.storage ?? []);
    const held = new Set(stored.map((s) => s.file));
    await files.prefetch(manifest.files.filter((entry) => verify || held.has(entry.path)));
    for (const entry of manifest.files) await sources.checkFile(entry, verify);
    for (const file of held) sources.openTensors(file);
    for (const item of [...manifest.variables, ...manifest.constants]) sources.checkStored(item);
    return sources;
  }

  /** A file's place, for messages. */
  path(file: string): string {
    return `${this.platform.files.where}/${file}`;
  }

  /** Dtype, shape and place of a stored tensor. */
  entry(storage: Storage): TensorEntry {
    const found = this.header(storage.file).tensors.get(storage.key);
    if (!found) {
      throw new BundleError(
        `${this.path(storage.file)}: no tensor ${JSON.stringify(storage.key)}; the files do not ` +
          'belong together: copy or save the bundle again',
      );
    }
    return found;
  }

  header(file: string): Header {
    return this.headers.get(file) as Header;
  }

  /** A stored tensor, read now. */
  tensor(storage: Storage): Tensor {
    const { dtype, shape, offset, nbytes } = this.entry(storage);
    const bytes = this.platform.files.readRange(storage.file, offset, nbytes);
    const where = `${this.path(storage.file)}: tensor ${JSON.stringify(storage.key)}`;
    return decode(bytes, dtype, shape, where);
  }

  /** The values that the variables have in the files. */
  values(): Value[] {
    return this.manifest.variables.map(({ storage }) => new Value(() => this.tensor(storage)));
  }

  constant(id: number): Value {
    let value = this.constants.get(id);
    if (!value) {
      const { name, dtype, shape, inline, storage } = this.manifest.constants[id] as ConstantEntry;
      const where = `${this.path(MANIFEST)}: constant ${JSON.stringify(name)}`;
      value = new Value(() =>
        inline ? decode(inline, dtype, shape, where) : this.tensor(storage as Storage),
      );
      this.constants.set(id, value);
    }
    return value;
  }

  /** Let go of files and constants. */
  async close(): Promise<void> {
    this.constants.clear();
    await this.platform.files.close();
  }

  /**
   * Refuse a bundle that the runtime is too old for, before it gets one of its graphs.
   *
   * @throws UnsupportedVersionError
   */
  checkRuntime(): Promise<void> {
    const { runtime, files } = this.platform;
    return (this.runtimeCheck ??= checkRuntime(runtime, this.manifest, files.where));
  }

  /** The bytes of a graph, compared with the manifest. */
  async readGraph(file: string): Promise<Uint8Array> {
    const entry = this.files.get(file) as FileEntry;
    if (entry.size > MAX_GRAPH_BYTES) {
      throw new BundleError(`${this.path(file)}: ${entry.size} bytes, limit ${MAX_GRAPH_BYTES}`);
    }
    const data = await this.platform.files.read(file, entry.size);
    this.checkSize(entry, data.length);
    this.checkHash(entry, await this.platform.sha256(data));
    return data;
  }

  private async checkFile(entry: FileEntry, verify: boolean): Promise<void> {
    const { files } = this.platform;
    const size = await files.size(entry.path);
    if (size === null) return; // it is checked when it is read
    this.checkSize(entry, size);
    if (verify || entry.size <= HASH_ON_LOAD_BYTES) {
      this.checkHash(entry, await files.hash(entry.path));
    }
  }

  private checkSize(entry: FileEntry, size: number): void {
    if (size !== entry.size) {
      throw new BundleError(
        `${this.path(entry.path)}: it has ${size} bytes, the manifest says ${entry.size}; it is ` +
          'truncated or was replaced: copy or save the bundle again',
      );
    }
  }

  private checkHash(entry: FileEntry, hash: Uint8Array): void {
    if (!hash.every((byte, i) => byte === entry.sha256[i])) {
      throw new BundleError(
        `${this.path(entry.path)}: its SHA-256 is not the one that the manifest says; it was ` +
          'changed or damaged: copy or save the bundle again',
      );
    }
  }

  private openTensors(file: string): void {
    const { files } = this.platform;
    const { size } = this.files.get(file) as FileEntry;
    const where = this.path(file);
    const head = files.readRange(file, 0, Math.min(8, size));
    const length = headerLength(head, size, where);
    this.headers.set(file, parseHeader(files.readRange(file, 8, length), size, where));
  }

  private checkStored(item: VariableEntry | ConstantEntry): void {
    if (!item.storage) return;
    const { dtype, shape } = this.entry(item.storage);
    if (dtype !== item.dtype || !compatible(shape, item.shape)) {
      throw new BundleError(
        `${this.path(item.storage.file)}: tensor ${JSON.stringify(item.storage.key)} is ` +
          `${describe(dtype, shape)}, the manifest says ${describe(item.dtype, item.shape)} for ` +
          `${JSON.stringify(item.name)}; the files do not belong together`,
      );
    }
  }
}
