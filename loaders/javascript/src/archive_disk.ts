/** Archives on disk: content is read where it lies, and weights are mapped from there. */

import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';

import {
  checkLimit,
  contentOffset,
  type Entries,
  entryAt,
  findDirectory,
  isArchive,
  MARK_SIZE,
  readDirectory,
  tailSize,
} from './archive.js';
import { BundleError } from './errors.js';
import {
  bytesOf,
  chunks,
  denied,
  identityOf,
  isDenied,
  openToRead,
  reading,
  unopened,
} from './folder.js';
import type { Files } from './platform.js';

/** The files of an archive; it stays open, so they are its files whatever takes its name. */
export class ArchiveOnDisk implements Files {
  /** The archive behind links. */
  readonly real: string;
  private readonly entries: Entries;
  private readonly begins = new Map<string, number>();
  private readonly seen: string;
  private isClosed = false;

  /**
   * Open a file if it begins as an archive does.
   *
   * @throws BundleError it breaks a rule of archives.
   * @throws PermissionDeniedError it may not be read.
   */
  static open(where: string): ArchiveOnDisk | null {
    let descriptor: number;
    try {
      if (!fs.statSync(where).isFile()) return null;
    } catch (error) {
      if (isDenied(error)) throw denied(where, 'read', error);
      return null;
    }
    try {
      descriptor = openToRead(where);
    } catch (error) {
      throw unopened(where, error);
    }
    try {
      const status = reading(where, () => fs.fstatSync(descriptor));
      const mark = bytesOf(descriptor, 0, Math.min(MARK_SIZE, status.size), where);
      if (status.isFile() && isArchive(mark)) {
        return new ArchiveOnDisk(where, descriptor, status.size);
      }
    } catch (error) {
      fs.closeSync(descriptor);
      throw error;
    }
    fs.closeSync(descriptor);
    return null;
  }

  private constructor(
    readonly where: string,
    private readonly descriptor: number,
    size: number,
  ) {
    this.real = reading(where, () => fs.realpathSync(where));
    this.seen = identityOf(descriptor);
    const tail = tailSize(size);
    const directory = findDirectory(bytesOf(descriptor, size - tail, tail, where), size, where);
    const list = bytesOf(descriptor, directory.offset, directory.length, where);
    this.entries = readDirectory(list, directory, where);
  }

  know(): void {
    // Every file is held: the archive is.
  }

  prefetch(): Promise<ReadonlySet<string>> {
    return Promise.resolve(new Set());
  }

  size(file: string): Promise<number> {
    return Promise.resolve(entryAt(this.entries, file, this.where).size);
  }

  read(file: string, limit: number): Promise<Uint8Array> {
    const entry = entryAt(this.entries, file, this.where);
    checkLimit(entry, limit, `${this.where}/${file}`);
    return Promise.resolve(this.readRange(file, 0, entry.size));
  }

  readRange(file: string, offset: number, length: number): Uint8Array {
    const where = `${this.where}/${file}`;
    const begin = this.begin(file);
    if (offset + length > entryAt(this.entries, file, this.where).size) {
      throw new BundleError(`${where}: it ends early, it was truncated`);
    }
    return bytesOf(this.descriptor, begin + offset, length, where);
  }

  async hash(file: string): Promise<Uint8Array> {
    const digest = createHash('sha256');
    for (const data of this.chunks(file)) {
      digest.update(data);
      await new Promise((resolve) => setImmediate(resolve)); // others have their turn
    }
    return digest.digest();
  }

  hashNow(file: string): Uint8Array {
    const digest = createHash('sha256');
    for (const data of this.chunks(file)) digest.update(data);
    return digest.digest();
  }

  isUnchanged(): Promise<boolean> {
    return Promise.resolve(identityOf(this.real) === this.seen);
  }

  close(): Promise<void> {
    if (!this.isClosed) fs.closeSync(this.descriptor);
    this.isClosed = true;
    return Promise.resolve();
  }

  /** Where the content of a file begins in the archive. */
  begin(file: string): number {
    if (this.isClosed) throw new BundleError(`${this.where}/${file}: the bundle was closed`);
    let begin = this.begins.get(file);
    if (begin === undefined) {
      const where = `${this.where}/${file}`;
      const entry = entryAt(this.entries, file, this.where);
      const header = bytesOf(this.descriptor, entry.header, entry.headerSize, where);
      begin = contentOffset(header, entry, where);
      this.begins.set(file, begin);
    }
    return begin;
  }

  /** Name of the archive and its folder, as the runtime is told them. */
  get place(): { readonly folder: string; readonly name: string } {
    return { folder: path.dirname(this.real), name: path.basename(this.real) };
  }

  private chunks(file: string): Iterable<Uint8Array> {
    const begin = this.begin(file);
    const { size } = entryAt(this.entries, file, this.where);
    return chunks(this.descriptor, `${this.where}/${file}`, begin, begin + size);
  }
}
