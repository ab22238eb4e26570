/** Folders on disk: the files of a bundle, and how new ones take the place of old ones. */

import { createHash, randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';

import {
  AbortedError,
  AlreadyExistsError,
  BundleError,
  NotFoundError,
  OpError,
  PermissionDeniedError,
  reason,
  ResourceExhaustedError,
} from './errors.js';
import type { FileEntry } from './manifest.js';
import { checkPath } from './paths.js';
import type { Files } from './platform.js';
import { MANIFEST } from './sources.js';
import { fields } from './wire.js';

const CHUNK = 1 << 24;

/** Marks of folders beside a bundle: one that is being written, and an old one that was replaced. */
const WRITING = '.tfx-writing-';
const ASIDE = '.tfx-replaced-'; // Python's too
/** Milliseconds after which one that is being written counts as left behind. */
const LIFE = 24 * 3600 * 1000;

/** The files of a folder. */
export class FolderFiles implements Files {
  private readonly open = new Map<string, number>();
  private readonly seen = new Map<string, string>();
  private held: ReadonlySet<string> = new Set();
  private readonly root: string;
  private isClosed = false;

  constructor(readonly where: string) {
    let isFolder = false;
    try {
      isFolder = fs.statSync(where).isDirectory();
    } catch (error) {
      if (isDenied(error)) throw denied(where, 'read', error);
    }
    if (!isFolder) {
      const aside = siblings(where, ASIDE)[0];
      const hint = aside
        ? `; a save was interrupted, and the bundle of before is in ${aside}: rename it back`
        : '';
      throw new NotFoundError(
        `${where}: no such folder or archive, expected a saved bundle${hint}`,
      );
    }
    try {
      this.root = fs.realpathSync(where);
      fs.statSync(path.join(where, MANIFEST));
    } catch (error) {
      if (isDenied(error)) throw denied(where, 'read', error);
      const hint = fs.existsSync(path.join(where, 'saved_model.pb'))
        ? 'it is a TensorFlow SavedModel'
        : 'it is not a bundle, or its save was never finished';
      throw new BundleError(`${where} has no ${MANIFEST}: ${hint}`);
    }
  }

  know(_entries: readonly FileEntry[], held: ReadonlySet<string>): void {
    this.held = held;
  }

  prefetch(): Promise<ReadonlySet<string>> {
    return Promise.resolve(new Set());
  }

  size(file: string): Promise<number> {
    return this.using(file, (descriptor) => fs.fstatSync(descriptor).size);
  }

  read(file: string, limit: number): Promise<Uint8Array> {
    return this.using(file, (descriptor) => {
      const { size } = fs.fstatSync(descriptor);
      if (size > limit) {
        throw new BundleError(
          `${this.where}/${file}: it has ${size} bytes, expected at most ${limit}; it is damaged or ` +
            'was replaced: copy or save the bundle again',
        );
      }
      return this.bytes(file, descriptor, 0, size);
    });
  }

  readRange(file: string, offset: number, length: number): Uint8Array {
    return this.bytes(file, this.descriptor(file), offset, length);
  }

  async hash(file: string): Promise<Uint8Array> {
    const digest = createHash('sha256');
    await this.using(file, async (descriptor) => {
      for (const data of chunks(descriptor, `${this.where}/${file}`)) {
        digest.update(data);
        await new Promise((resolve) => setImmediate(resolve)); // others have their turn
      }
    });
    return digest.digest();
  }

  hashNow(file: string): Uint8Array {
    const digest = createHash('sha256');
    const where = `${this.where}/${file}`;
    for (const data of chunks(this.descriptor(file), where)) digest.update(data);
    return digest.digest();
  }

  isUnchanged(file: string): Promise<boolean> {
    this.descriptor(file);
    return Promise.resolve(this.identity(file) === this.seen.get(file));
  }

  close(): Promise<void> {
    this.isClosed = true;
    for (const descriptor of this.open.values()) fs.closeSync(descriptor);
    this.open.clear();
    return Promise.resolve();
  }

  /** Do something with an open file; only those that are held stay open. */
  private async using<T>(file: string, work: (descriptor: number) => T | Promise<T>): Promise<T> {
    if (this.held.has(file)) return work(this.descriptor(file));
    const descriptor = this.opened(file);
    try {
      return await work(descriptor);
    } finally {
      fs.closeSync(descriptor);
    }
  }

  private bytes(file: string, descriptor: number, offset: number, length: number): Uint8Array {
    return bytesOf(descriptor, offset, length, `${this.where}/${file}`);
  }

  /** A file that is held is read from then on, whatever takes its name. */
  private descriptor(file: string): number {
    const known = this.open.get(file);
    if (known !== undefined) return known;
    const descriptor = this.opened(file);
    this.open.set(file, descriptor);
    this.seen.set(file, this.identity(file));
    return descriptor;
  }

  private opened(file: string): number {
    if (this.isClosed) throw new BundleError(`${this.where}/${file}: the bundle was closed`);
    if (file !== MANIFEST) checkPath(file, this.where);
    const full = path.join(this.where, file);
    let descriptor: number;
    try {
      const real = fs.realpathSync(full);
      if (!isBelow(this.root, real)) {
        throw new BundleError(
          `${full}: a link that leads out of the bundle; expected a plain file`,
        );
      }
      descriptor = openToRead(real);
    } catch (error) {
      throw unopened(full, error);
    }
    if (!fs.fstatSync(descriptor).isFile()) {
      fs.closeSync(descriptor);
      throw new BundleError(`${full}: not a plain file; copy or save the bundle again`);
    }
    return descriptor;
  }

  private identity(file: string): string {
    return identityOf(path.join(this.where, file));
  }
}

/** Open what may be a pipe without a writer, which must not be waited for. */
export function openToRead(full: string): number {
  // Windows has no such flag.
  const { O_RDONLY, O_NONBLOCK = 0 } = fs.constants as Partial<typeof fs.constants>;
  return fs.openSync(full, (O_RDONLY ?? 0) | O_NONBLOCK);
}

/** The error for a file of a bundle that cannot be opened. */
export function unopened(full: string, error: unknown): OpError {
  if (error instanceof OpError) return error;
  if (isDenied(error)) return denied(full, 'read', error);
  if (['EMFILE', 'ENFILE'].includes(codeOf(error))) {
    return new ResourceExhaustedError(
      `${full}: too many files are open (${reason(error)}); close bundles, or raise the limit`,
    );
  }
  return new BundleError(
    `${full}: ${reason(error)}; the bundle is incomplete: copy or save it again`,
  );
}

/** Whether a real path is inside of a folder; on every system, also at the root of a drive. */
function isBelow(root: string, real: string): boolean {
  const relative = path.relative(root, real);
  return relative !== '' && !path.isAbsolute(relative) && relative.split(path.sep)[0] !== '..';
}

/**
 * A part of an open file.
 *
 * @throws BundleError the file ends before.
 */
export function bytesOf(
  descriptor: number,
  offset: number,
  length: number,
  where: string,
): Uint8Array {
  let data: Uint8Array;
  try {
    data = new Uint8Array(length);
  } catch (error) {
    throw new ResourceExhaustedError(
      `${where}: no memory for ${length} bytes of it (${reason(error)})`,
    );
  }
  for (let done = 0; done < length;) {
    const most = Math.min(length - done, 1 << 30);
    const read = () => fs.readSync(descriptor, data, done, most, offset + done);
    const count = reading(where, read);
    if (!count) throw new BundleError(`${where}: it ends early, it was truncated`);
    done += count;
  }
  return data;
}

/** Ask the system for something of a file that is open; what it refuses is an error of the loader. */
export function reading<T>(where: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof OpError) throw error;
    if (isDenied(error)) throw denied(where, 'read', error);
    throw new BundleError(
      `${where}: it cannot be read (${reason(error)}); try again, or copy the bundle again`,
    );
  }
}

/** What an open file has from one place to another, in buffers that are used again. */
export function* chunks(
  descriptor: number,
  where: string,
  begin = 0,
  end = reading(where, () => fs.fstatSync(descriptor).size),
): Iterable<Uint8Array> {
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK, end - begin));
  for (let at = begin, count = 1; count && at < end; at += count) {
    const most = Math.min(buffer.length, end - at);
    const place = at;
    count = reading(where, () => fs.readSync(descriptor, buffer, 0, most, place));
    yield buffer.subarray(0, count);
  }
}

/** What tells a file, which may be open, from another one that takes its name. */
export function identityOf(file: string | number): string {
  const options = { bigint: true } as const;
  try {
    const s = typeof file === 'number' ? fs.fstatSync(file, options) : fs.statSync(file, options);
    return `${s.dev} ${s.ino} ${s.size} ${s.mtimeNs}`;
  } catch {
    return 'gone';
  }
}

/** A folder that appears at its path all at once; nobody ever meets half of it. */
export class NewFolder {
  private readonly fresh: string;
  private readonly found: string;
  private readonly written = new Set<string>([MANIFEST]);

  /**
   * Make a folder beside the target.
   *
   * @throws AlreadyExistsError the target is something that is no bundle.
   */
  constructor(private readonly target: string) {
    checkReplaceable(target);
    cleanLeftovers(target);
    this.found = this.identity();
    this.fresh = beside(target, WRITING);
    guarded(target, () => fs.mkdirSync(this.fresh, { recursive: true }));
  }

  write(file: string, parts: readonly Uint8Array[]): void {
    guarded(this.target, () => {
      const full = path.join(this.fresh, file);
      fs.mkdirSync(path.dirname(full), { recursive: true });
      writeDurably(full, parts);
      this.written.add(file);
    });
  }

  /**
   * Put it into its place.
   *
   * @throws AbortedError another save has ended since this one began.
   */
  finish(): void {
    guarded(this.target, () => {
      checkReplaceable(this.target);
      const aside = beside(this.target, ASIDE);
      const isThere = fs.existsSync(this.target);
      if (isThere) {
        this.carryOver();
        fs.renameSync(this.target, aside);
      }
      try {
        // What was moved aside, and not what was there a moment before.
        if (isThere && this.identity(aside) !== this.found) throw this.overtaken();
        syncFolders(this.fresh, this.written);
        fs.renameSync(this.fresh, this.target);
      } catch (error) {
        if (isThere && !fs.existsSync(this.target)) fs.renameSync(aside, this.target);
        throw ['ENOTEMPTY', 'EEXIST'].includes(codeOf(error)) ? this.overtaken() : error;
      }
      syncFolder(path.dirname(this.target));
      fs.rmSync(aside, { recursive: true, force: true });
    });
  }

  /** Remove what is not in its place. */
  discard(): void {
    fs.rmSync(this.fresh, { recursive: true, force: true });
  }

  private overtaken(): AbortedError {
    return new AbortedError(
      `${this.target}: another save has written it while this one went on, and was left as it is; ` +
        'save again if this one is to replace it',
    );
  }

  private identity(folder = this.target): string {
    return `${identityOf(folder).split(' ').slice(0, 2).join()} ${identityOf(path.join(folder, MANIFEST))}`;
  }

  /** Files that somebody has put into the old folder are kept. */
  private carryOver(): void {
    const own = new Set([...this.written, ...listedFiles(this.target)]);
    for (const name of fs.readdirSync(this.target, { recursive: true, encoding: 'utf8' })) {
      const full = path.join(this.target, name);
      const status = fs.lstatSync(full);
      if (status.isDirectory()) continue;
      const copy = path.join(this.fresh, name);
      if (own.has(name.split(path.sep).join('/')) || fs.existsSync(copy)) continue;
      fs.mkdirSync(path.dirname(copy), { recursive: true });
      if (status.isSymbolicLink()) fs.symlinkSync(fs.readlinkSync(full), copy);
      else fs.copyFileSync(full, copy);
    }
  }
}

/** What the manifest of a bundle lists; nothing, if it cannot be read: then nothing is lost. */
function listedFiles(folder: string): string[] {
  try {
    const manifest = fields(fs.readFileSync(path.join(folder, MANIFEST)));
    return manifest
      .filter((f) => f.number === 5)
      .map(
        (f) =>
          fields(f.bytes())
            .find(({ number }) => number === 1)
            ?.text() ?? '',
      );
  } catch {
    return [];
  }
}

function checkReplaceable(target: string): void {
  let names: string[];
  try {
    names = fs.readdirSync(target);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    if (isDenied(error)) throw denied(target, 'read', error);
    throw new AlreadyExistsError(
      `${target}: a file, expected the path of a folder to make; \`tfx convert FOLDER NAME.tfx\` makes ` +
        'an archive of one',
    );
  }
  if (names.length && !names.includes(MANIFEST)) {
    throw new AlreadyExistsError(
      `${target} exists and is no bundle (it has ${names.slice(0, 3).join(', ')}); save to another path`,
    );
  }
}

function siblings(target: string, mark: string): string[] {
  const { dir, base } = path.parse(target);
  try {
    const names = fs.readdirSync(dir).filter((name) => name.startsWith(`.${base}${mark}`));
    return names.map((name) => path.join(dir, name));
  } catch {
    return [];
  }
}

/** Remove what killed saves have left; puts an old bundle back if need be. */
function cleanLeftovers(target: string): void {
  try {
    for (const folder of siblings(target, ASIDE)) {
      if (fs.existsSync(target)) fs.rmSync(folder, { recursive: true, force: true });
      else fs.renameSync(folder, target); // killed between its two renames
    }
    for (const folder of siblings(target, WRITING)) {
      if (Date.now() - fs.statSync(folder).mtimeMs < LIFE) continue;
      fs.rmSync(folder, { recursive: true, force: true });
    }
  } catch {
    // others tidy up too
  }
}

function beside(target: string, mark: string): string {
  const { dir, base } = path.parse(target);
  return path.join(dir, `.${base}${mark}${process.pid}-${randomBytes(4).toString('hex')}`);
}

/** Write a file so that it is there whole or not at all. */
export function replaceFile(target: string, parts: readonly Uint8Array[]): void {
  guarded(target, () => {
    fs.mkdirSync(path.dirname(target), { recursive: true });
    const temporary = beside(target, '.tfx-writing-');
    try {
      writeDurably(temporary, parts);
      fs.renameSync(temporary, target);
      syncFolder(path.dirname(target));
    } finally {
      fs.rmSync(temporary, { force: true });
    }
  });
}

function writeDurably(file: string, parts: readonly Uint8Array[]): void {
  const descriptor = fs.openSync(file, 'wx');
  try {
    for (const data of parts) {
      for (let done = 0; done < data.length;) {
        done += fs.writeSync(descriptor, data, done, Math.min(1 << 28, data.length - done));
      }
    }
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

function syncFolders(root: string, files: Iterable<string>): void {
  const folders = new Set([...files].map((file) => path.dirname(path.join(root, file))));
  for (const folder of [...folders].sort().reverse()) syncFolder(folder);
}

/** Make the names in a folder durable, where the system lets a folder be opened. */
function syncFolder(folder: string): void {
  let descriptor: number;
  try {
    descriptor = fs.openSync(folder, 'r');
  } catch {
    return; // Windows
  }
  try {
    fs.fsyncSync(descriptor);
  } catch {
    // some file systems have no such thing
  } finally {
    fs.closeSync(descriptor);
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | null)?.code ?? '';
}

export function isDenied(error: unknown): boolean {
  return ['EACCES', 'EPERM', 'EROFS'].includes(codeOf(error));
}

/** The error for what may not be read or written. */
export function denied(where: string, verb: string, error: unknown): PermissionDeniedError {
  const hint =
    process.platform === 'win32'
      ? 'another program, or an open bundle, may have its files open: close it'
      : 'change its permissions, or choose another place';
  return new PermissionDeniedError(`${where}: it may not be ${verb} (${reason(error)}); ${hint}`);
}

/** Do something with files, with errors that say what to do. */
export function guarded<T>(target: string, work: () => T, verb = 'written'): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof OpError) throw error;
    const code = codeOf(error);
    if (code === 'ENOSPC' || code === 'EDQUOT') {
      throw new ResourceExhaustedError(`${target}: the disk is full; nothing was changed`);
    }
    if (isDenied(error) || code === 'EBUSY') throw denied(target, verb, error);
    throw error;
  }
}
