/**
 * The files of an open bundle: the manifest, the headers of weights, the graphs.
 *
 * A file is trusted for what was checked of it at that moment. Large files of weights are compared
 * with their hashes when something of them is first used.
 */

import { PIECE } from './checksums.js';
import { compatible, describe } from './dtypes.js';
import { BundleError } from './errors.js';
import { HASH_ON_LOAD_BYTES, MAX_GRAPH_BYTES, MAX_MANIFEST_BYTES } from './limits.js';
import {
  type ConstantEntry,
  type FileEntry,
  graphFiles,
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

/** Bytes of a file. */
export interface Range {
  readonly file: string;
  readonly offset: number;
  readonly length: number;
}

export class Sources {
  /** What the manifest says of each file. */
  readonly files: ReadonlyMap<string, FileEntry>;
  private readonly headers = new Map<string, Header>();
  private readonly constants = new Map<number, Value>();
  /** Large files of weights that have not been compared as a whole, with the pieces that have. */
  private readonly unchecked = new Map<string, Set<number>>();
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
   * @param verify True hashes every file now; undefined compares large ones of weights when something
   *   of them is first used, false never.
   */
  static async open(platform: Platform, verify?: boolean): Promise<Sources> {
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
    files.know(manifest.files, new Set([...held, ...graphFiles(manifest)]));
    const wanted = manifest.files.filter(({ path }) => verify === true || held.has(path));
    const known = await files.prefetch(wanted);
    for (const entry of manifest.files) {
      await sources.checkFile(entry, verify, known.has(entry.path), held.has(entry.path));
    }
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

  /** Where a stored tensor lies. */
  range(storage: Storage): Range {
    const { offset, nbytes } = this.entry(storage);
    return { file: storage.file, offset, length: nbytes };
  }

  header(file: string): Header {
    const found = this.headers.get(file);
    if (!found) throw new BundleError(`${this.path(file)}: holds no tensors of the bundle`);
    return found;
  }

  /** A stored tensor, in memory of its own. */
  tensor(storage: Storage): Tensor {
    const { file, key } = storage;
    const { offset, nbytes, dtype, shape } = this.entry(storage);
    this.checkNow({ file, offset, length: nbytes });
    const bytes = this.platform.files.readRange(file, offset, nbytes);
    return decode(bytes, dtype, shape, `${this.path(file)}: ${JSON.stringify(key)}`);
  }

  /** The variables as they are in the files. */
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
   * Compare what is about to be used of files of weights with their sums; each piece once.
   *
   * @throws BundleError a file is not the one that was saved.
   */
  async check(used: Iterable<Range>): Promise<void> {
    for (const range of used) {
      const done = this.unchecked.get(range.file);
      if (!done) continue;
      const entry = this.files.get(range.file) as FileEntry;
      if (!entry.crc32.length) {
        this.checkHash(entry, await this.platform.files.hash(range.file));
        this.unchecked.delete(range.file);
        continue;
      }
      for (const piece of this.pieces(range)) {
        if (done.has(piece)) continue;
        this.checkPiece(entry, piece, done);
        await new Promise((resolve) => setTimeout(resolve)); // others have their turn
      }
    }
  }

  /**
   * Compare sizes and hashes of all files.
   *
   * @throws BundleError a file is not the one that was saved.
   */
  async verify(): Promise<void> {
    for (const entry of this.manifest.files) {
      this.checkHash(entry, await this.platform.files.hash(entry.path));
      this.unchecked.delete(entry.path);
    }
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
    return this.readFile(entry);
  }

  /** The bytes of a file, compared with the manifest. */
  async readFile(entry: FileEntry): Promise<Uint8Array> {
    const data = await this.platform.files.read(entry.path, entry.size);
    this.checkSize(entry, data.length);
    this.checkHash(entry, await this.platform.sha256(data));
    return data;
  }

  private async checkFile(
    entry: FileEntry,
    verify: boolean | undefined,
    isKnown: boolean,
    isStore: boolean,
  ): Promise<void> {
    const { files } = this.platform;
    const size = await files.size(entry.path);
    if (size === null) return; // it is checked when it is read
    this.checkSize(entry, size);
    if (isKnown) return;
    if (verify || entry.size <= HASH_ON_LOAD_BYTES) {
      this.checkHash(entry, await files.hash(entry.path));
    } else if (isStore && verify === undefined) this.unchecked.set(entry.path, new Set());
  }

  /** As `check`, where nobody can wait. */
  private checkNow(range: Range): void {
    const done = this.unchecked.get(range.file);
    if (!done) return;
    const entry = this.files.get(range.file) as FileEntry;
    if (!entry.crc32.length) {
      this.checkHash(entry, this.platform.files.hashNow(range.file));
      this.unchecked.delete(range.file);
    } else for (const piece of this.pieces(range)) this.checkPiece(entry, piece, done);
  }

  /** The pieces that have a byte of the header or of the range. */
  private *pieces({ file, offset, length }: Range): Iterable<number> {
    const header = this.header(file).size;
    for (let at = 0; at * PIECE < header; at++) yield at;
    for (let at = Math.floor(offset / PIECE); at * PIECE < offset + length; at++) yield at;
  }

  private checkPiece(entry: FileEntry, piece: number, done: Set<number>): void {
    if (done.has(piece)) return;
    const { files, crc32 } = this.platform;
    const begin = piece * PIECE;
    const length = Math.min(PIECE, entry.size - begin);
    if (crc32(files.readRange(entry.path, begin, length)) !== entry.crc32[piece]) {
      throw new BundleError(
        `${this.path(entry.path)}: its bytes from ${begin} to ${begin + length} have another ` +
          'CRC-32 than the manifest says; it was changed or damaged: copy or save the bundle again',
      );
    }
    done.add(piece);
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
