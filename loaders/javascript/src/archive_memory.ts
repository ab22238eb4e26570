/** Archives in memory, or in what a browser calls a blob: parts are read when they are needed. */

import {
  checkLimit,
  contentOffset,
  type Entries,
  type Entry,
  entryAt,
  findDirectory,
  isArchive,
  MARK_SIZE,
  readDirectory,
  tailSize,
} from './archive.js';
import {
  BundleError,
  FailedPreconditionError,
  InvalidArgumentError,
  reason,
  ResourceExhaustedError,
} from './errors.js';
import type { FileEntry, Sha256 } from './manifest.js';
import type { Files } from './platform.js';

/** The bytes of an archive: what `fetch`, an `<input type="file">` or `fs.readFile` give. */
export type ArchiveBytes = Blob | ArrayBuffer | ArrayBufferView;

/** Whether something is bytes of an archive, and not a place. */
export function isBytes(value: unknown): value is ArchiveBytes {
  return ArrayBuffer.isView(value) || isBlob(value) || kindOf(value).endsWith('ArrayBuffer');
}

/** What bytes are called in messages: the name of a file, where they have one. */
export function nameOf(bytes: ArchiveBytes): string {
  return (isBlob(bytes) ? (bytes as Partial<File>).name : null) ?? 'archive in memory';
}

/** Also of another window. */
function isBlob(value: unknown): value is Blob {
  return /^(Blob|File)$/.test(kindOf(value));
}

function kindOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1);
}

/** The error for bytes that do not begin as an archive does. */
export function noArchive(where: string, what = 'it is'): BundleError {
  return new BundleError(
    `${where}: ${what} no ZIP archive, expected one that \`tfx convert\` makes`,
  );
}

/** SHA-256s, as the platform has them. */
export interface Hashes {
  readonly later: Sha256;
  readonly now: (data: Uint8Array) => Uint8Array;
  /** Whether the later ones are quick, and keep nobody waiting. */
  readonly areQuick: boolean;
}

/** Reads parts of an archive; what comes out is nobody else's, or never changes. */
interface Source {
  readonly size: number;
  read(begin: number, end: number): Uint8Array | Promise<Uint8Array>;
}

/** The files of an archive. Weights are there when it is open, others when they are read. */
export class ArchiveInMemory implements Files {
  private held: ReadonlySet<string> = new Set();
  private readonly loaded = new Map<string, Uint8Array>();

  private constructor(
    readonly where: string,
    private source: Source | null,
    private readonly entries: Entries,
    private readonly hashes: Hashes,
    private readonly comparesAll: boolean,
  ) {}

  /**
   * Read the list of an archive's entries.
   *
   * @param where What messages call it.
   * @param options `isOwn`: nobody else can change the bytes, so they need not be copied. `verify` as for
   *   bundles.
   * @throws BundleError it is no archive, or breaks a rule of archives.
   */
  static async open(
    bytes: ArchiveBytes,
    where: string,
    hashes: Hashes,
    options: { readonly isOwn?: boolean; readonly verify?: boolean | undefined } = {},
  ): Promise<ArchiveInMemory> {
    const source = sourceOf(bytes, where, options.isOwn ?? false);
    const { size } = source;
    if (!isArchive(await source.read(0, Math.min(MARK_SIZE, size)))) {
      throw noArchive(where, `its ${size} bytes are`);
    }
    const directory = findDirectory(await source.read(size - tailSize(size), size), size, where);
    const { offset, length } = directory;
    const entries = readDirectory(await source.read(offset, offset + length), directory, where);
    return new ArchiveInMemory(where, source, entries, hashes, options.verify !== false);
  }

  know(_entries: readonly FileEntry[], held: ReadonlySet<string>): void {
    this.held = held;
  }

  async prefetch(entries: readonly FileEntry[]): Promise<ReadonlySet<string>> {
    const checked = new Set<string>();
    for (const { path, size, sha256 } of entries) {
      // Another size, or none: whoever asks for it says so.
      if (!this.held.has(path) || this.entries.get(path)?.size !== size) continue;
      const data = await this.content(path);
      this.loaded.set(path, data);
      if (!this.hashes.areQuick || !this.comparesAll) continue;
      if (!hasDigest(await this.hashes.later(data), sha256)) {
        throw new BundleError(
          `${this.where}/${path}: its SHA-256 is not the one that the manifest says; it was changed ` +
            'or damaged: copy or save the bundle again',
        );
      }
      checked.add(path);
    }
    return checked;
  }

  size(path: string): Promise<number> {
    return Promise.resolve(this.entry(path).size);
  }

  async read(path: string, limit: number): Promise<Uint8Array> {
    checkLimit(this.entry(path), limit, `${this.where}/${path}`);
    return this.loaded.get(path) ?? this.content(path);
  }

  readRange(path: string, offset: number, length: number): Uint8Array {
    const data = this.loaded.get(path) ?? new Uint8Array();
    if (offset + length > data.length) {
      throw new BundleError(`${this.where}/${path}: it ends early, it was truncated`);
    }
    return data.subarray(offset, offset + length);
  }

  async hash(path: string): Promise<Uint8Array> {
    return this.hashes.later(await this.read(path, this.entry(path).size));
  }

  hashNow(path: string): Uint8Array {
    return this.hashes.now(this.loaded.get(path) ?? new Uint8Array());
  }

  isUnchanged(): Promise<boolean> {
    return Promise.resolve(true);
  }

  close(): Promise<void> {
    this.source = null;
    this.loaded.clear();
    return Promise.resolve();
  }

  private entry(path: string): Entry {
    return entryAt(this.entries, path, this.where);
  }

  private async content(path: string): Promise<Uint8Array> {
    const where = `${this.where}/${path}`;
    const { source } = this;
    if (!source) throw new BundleError(`${where}: the bundle was closed`);
    const entry = this.entry(path);
    const header = await source.read(entry.header, entry.header + entry.headerSize);
    const begin = contentOffset(header, entry, where);
    return source.read(begin, begin + entry.size);
  }
}

function hasDigest(found: Uint8Array, expected: Uint8Array): boolean {
  return found.every((byte, i) => byte === expected[i]);
}

/** Bytes as they are; those of a buffer that was transferred cannot be seen. */
function viewOf(bytes: ArrayBuffer | ArrayBufferView, where: string): Uint8Array {
  let data: Uint8Array = new Uint8Array();
  try {
    data = ArrayBuffer.isView(bytes)
      ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      : new Uint8Array(bytes);
  } catch {
    // It was handed away.
  }
  if (data.length) return data;
  throw new InvalidArgumentError(
    `${where}: no bytes, or they were handed to another thread; expected those of an archive`,
  );
}

function sourceOf(bytes: ArchiveBytes, where: string, isOwn: boolean): Source {
  if (isBlob(bytes)) {
    const read = async (begin: number, end: number): Promise<Uint8Array> => {
      try {
        const found = new Uint8Array(await bytes.slice(begin, end).arrayBuffer());
        if (found.length === end - begin) return found;
        throw new Error(`${found.length} bytes came`);
      } catch (error) {
        throw new BundleError(
          `${where}: bytes ${begin} to ${end} cannot be read (${reason(error)}); the file was changed ` +
            'or removed, or there is no memory for it: choose it again',
        );
      }
    };
    return { size: bytes.size, read };
  }
  const data = viewOf(bytes, where);
  const read = (begin: number, end: number) => {
    if (!data.length) {
      throw new FailedPreconditionError(
        `${where}: the bytes that it was opened from were handed to another thread; hand a copy of ` +
          'them there, and open it again',
      );
    }
    if (isOwn) return data.subarray(begin, end);
    try {
      return data.slice(begin, end);
    } catch (error) {
      throw new ResourceExhaustedError(
        `${where}: no memory for ${end - begin} bytes of it (${reason(error)})`,
      );
    }
  };
  return { size: data.length, read };
}
