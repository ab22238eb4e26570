/**
 * Bundles as one file: what a ZIP archive holds, and where.
 *
 * Nothing of an archive is believed. Entries are stored as they are, lie beside each other, and have
 * no more bytes than the archive; what is in them is compared with the manifest like files of a
 * folder. See SPEC.md, section 2.1. Nobody reads here: who has the bytes passes those that are asked
 * for, at once or later.
 */

import { BundleError, reason } from './errors.js';
import { MAX_ARCHIVE_DIRECTORY_BYTES } from './limits.js';
import { pathProblem } from './paths.js';

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const LARGE_END = 0x06064b50;
const LOCATOR = 0x07064b50;
const END_SIZE = 22;
const LARGE_SIZES = 56 + 20;
/** The greatest numbers of 16 and 32 bits say that the true one is elsewhere, in 64 bits. */
const [SHORT, LONG] = [0xffff, 0xffffffff];
/** What flags may say: how something was compressed, that sizes come later, that names are UTF-8. */
const KNOWN_FLAGS = 0x80e;
/** Extra fields: sizes and places of 64 bits, and a name. */
const [WIDE, NAME] = [1, 0x7075];
const [LATER, UTF8] = [8, 0x800];
const ADVICE = 'unzip it by yourself, if you trust it, or make the archive with `tfx convert`';
const NONE: ReadonlyMap<number, Uint8Array> = new Map();
const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const FILE = 0o100000;
const FOLDER = 0o040000;

/** Where the list of entries is. */
export interface Directory {
  readonly offset: number;
  readonly length: number;
  readonly count: number;
}

/** A file of the archive. */
export interface Entry {
  /** Bytes of its content. */
  readonly size: number;
  /** Where its local header begins. */
  readonly header: number;
  /** Bytes of the local header that have to be seen. */
  readonly headerSize: number;
  readonly crc32: number;
  /** Its name in the archive. */
  readonly name: string;
  /** Where something else begins. */
  limit: number;
}

/** Files by their paths in the bundle. */
export type Entries = ReadonlyMap<string, Entry>;

/** Whether bytes begin as a ZIP archive with entries does; `MARK_SIZE` of them are enough. */
export function isArchive(head: Uint8Array): boolean {
  return head.length >= MARK_SIZE && viewOf(head).getUint32(0, true) === LOCAL;
}

export const MARK_SIZE = 4;

/** How many bytes of the end of an archive `findDirectory` takes. */
export function tailSize(size: number): number {
  return Math.min(size, END_SIZE + SHORT + LARGE_SIZES);
}

/**
 * Find the list of entries.
 *
 * @param tail The last bytes of the archive.
 * @param size Bytes of the whole archive.
 * @throws BundleError it is damaged, or its list would take too much memory.
 */
export function findDirectory(tail: Uint8Array, size: number, where: string): Directory {
  const view = viewOf(tail);
  let at = tail.length - END_SIZE;
  while (at >= 0 && view.getUint32(at, true) !== END) at--;
  if (at < 0 || at + END_SIZE + view.getUint16(at + 20, true) !== tail.length) {
    throw damaged(where, 'it has no end record');
  }
  const word = (i: number) => view.getUint16(i, true);
  const long = (i: number) => view.getUint32(i, true);
  let [disks, here, count] = [word(at + 4) + word(at + 6), word(at + 8), word(at + 10)];
  let [length, offset] = [long(at + 12), long(at + 16)];
  let end = size - tail.length + at;
  const large = at - LARGE_SIZES;
  if (large >= 0 && long(at - 20) === LOCATOR) {
    end -= LARGE_SIZES;
    const isThere = long(large) === LARGE_END && huge(view, large + 4) === LARGE_SIZES - 32;
    if (!isThere || huge(view, at - 12) !== end) throw damaged(where, 'its ZIP64 record is wrong');
    disks = long(large + 16) + long(large + 20);
    const wide = [24, 32, 40, 48].map((i) => huge(view, large + i));
    [here, count, length, offset] = wide.map((value, i) => {
      const [known, mark] = [[here, count, length, offset][i], i < 2 ? SHORT : LONG];
      if (known !== mark && known !== value) throw damaged(where, 'its two end records differ');
      return value;
    }) as [number, number, number, number];
  }
  if (length > MAX_ARCHIVE_DIRECTORY_BYTES) {
    throw new BundleError(
      `${where}: its list of entries has ${length} bytes, limit ${MAX_ARCHIVE_DIRECTORY_BYTES}`,
    );
  }
  if (disks || here !== count || offset + length !== end) {
    throw damaged(where, 'its list of entries is not where its end record says');
  }
  return { offset, length, count };
}

/**
 * Read the list of entries.
 *
 * @param data The bytes of the list.
 * @returns The files of the bundle, which is at the top of the archive or in the one folder there.
 * @throws BundleError an entry breaks a rule, or there is not exactly one bundle.
 */
export function readDirectory(data: Uint8Array, directory: Directory, where: string): Entries {
  const view = viewOf(data);
  const found = new Map<string, Entry>();
  const seen = new Set<string>();
  let at = 0;
  for (let i = 0; i < directory.count; i++) {
    if (at + 46 > data.length || view.getUint32(at, true) !== CENTRAL) {
      throw damaged(where, `entry ${i} of its list is none`);
    }
    const nameSize = view.getUint16(at + 28, true);
    const extraSize = view.getUint16(at + 30, true);
    const more = view.getUint16(at + 32, true);
    const next = at + 46 + nameSize + extraSize + more;
    if (next > data.length) throw damaged(where, `entry ${i} of its list ends early`);
    const raw = data.subarray(at + 46, at + 46 + nameSize);
    const name = decoded(raw, view.getUint16(at + 8, true), where);
    const refused = (problem: string) =>
      new BundleError(`${where}: the entry ${quoted(name)} is refused: ${problem}`);
    const extra = extraSize ? extraFields(data.subarray(at + 46 + nameSize, next - more)) : NONE;
    if (typeof extra === 'string') {
      throw damaged(where, `the extra fields of ${quoted(name)} ${extra}`);
    }
    const { stored, ...entry } = entryOf(view, at, name, extra);
    const problem = entryProblem(view, at, entry, stored) ?? nameProblem(raw, extra);
    if (problem !== null) throw refused(problem);
    const folded = name.toLowerCase();
    if (seen.has(folded)) throw refused('it is there twice');
    seen.add(folded);
    found.set(name, entry);
    at = next;
  }
  if (at !== data.length) throw damaged(where, 'its list of entries has bytes behind the last one');
  return below(bounded(found, directory.offset, where), where);
}

/**
 * Where the content of an entry begins.
 *
 * @param header `headerSize` bytes from the entry's local header on.
 * @throws BundleError the header is of another file than the list says.
 */
export function contentOffset(header: Uint8Array, entry: Entry, where: string): number {
  const view = viewOf(header);
  const name = new TextEncoder().encode(entry.name);
  const has = (at: number, value: number) => view.getUint32(at, true) === value;
  const word = (at: number) => view.getUint16(at, true);
  const isLater = Boolean(word(6) & LATER);
  const sizes = [18, 22].every(
    (at) => has(at, entry.size) || has(at, LONG) || (isLater && has(at, 0)),
  );
  const isSame =
    has(0, LOCAL) &&
    word(8) === 0 &&
    (has(14, entry.crc32) || (isLater && has(14, 0))) &&
    word(26) === name.length &&
    name.every((byte, i) => byte === header[30 + i]);
  if (!isSame || !sizes) {
    throw damaged(where, 'its local header is not the one that the list of entries says');
  }
  const begin = entry.header + entry.headerSize + word(28);
  if (begin + entry.size > entry.limit) {
    throw damaged(where, `its ${entry.size} bytes reach into what follows`);
  }
  return begin;
}

function damaged(where: string, problem: string): BundleError {
  return new BundleError(`${where} is a damaged archive: ${problem}; copy it again`);
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** A number of 64 bits; those that JavaScript cannot hold are greater than any archive. */
function huge(view: DataView, at: number): number {
  return Number(view.getBigUint64(at, true));
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 200));
}

function decoded(raw: Uint8Array, flags: number, where: string): string {
  try {
    if (!(flags & UTF8) && raw.some((byte) => byte > 127)) throw new Error('the flag is missing');
    return DECODER.decode(raw);
  } catch (error) {
    throw new BundleError(
      `${where}: the name of an entry is not in UTF-8 (${reason(error)}); ${ADVICE}`,
    );
  }
}

/** Extra fields by their numbers, or what is wrong with them. */
function extraFields(data: Uint8Array): Map<number, Uint8Array> | string {
  const found = new Map<number, Uint8Array>();
  const view = viewOf(data);
  for (let at = 0; at + 4 <= data.length;) {
    const end = at + 4 + view.getUint16(at + 2, true);
    if (end > data.length) return 'end early';
    const id = view.getUint16(at, true);
    // Of two sizes or names others may take the other one.
    if (found.has(id) && (id === WIDE || id === NAME)) return 'say something twice';
    found.set(id, data.subarray(at + 4, end));
    at = end;
  }
  return found;
}

function entryOf(
  view: DataView,
  at: number,
  name: string,
  extra: ReadonlyMap<number, Uint8Array>,
): Entry & { readonly stored: number } {
  const wide = extra.get(WIDE);
  let used = 0;
  // In this order, and only those that have no room where they belong.
  const number = (place: number): number => {
    const value = view.getUint32(at + place, true);
    if (value !== LONG || !wide || used + 8 > wide.length) return value;
    used += 8;
    return huge(viewOf(wide), used - 8);
  };
  const [size, stored, header] = [number(24), number(20), number(42)];
  const crc32 = view.getUint32(at + 16, true);
  const headerSize = 30 + view.getUint16(at + 28, true);
  return { size, stored, header, headerSize, crc32, name, limit: 0 };
}

/** What is wrong with an entry by itself, or null. */
function entryProblem(
  view: DataView,
  at: number,
  { name, size }: Entry,
  stored: number,
): string | null {
  const isFolder = name.endsWith('/');
  const problem = pathProblem(isFolder ? name.slice(0, -1) : name);
  if (problem !== null) return `its path is not allowed: ${problem}`;
  const flags = view.getUint16(at + 8, true);
  const kind = (view.getUint32(at + 38, true) >>> 16) & 0o170000;
  if (kind && kind !== FILE && !(kind === FOLDER && isFolder)) {
    return 'it is a link or a device, expected a plain file';
  }
  if (flags & 1) return `it is encrypted; ${ADVICE}`;
  if (flags & ~KNOWN_FLAGS) return `its flags are 0x${flags.toString(16)}; ${ADVICE}`;
  if (view.getUint16(at + 10, true) !== 0) {
    return `it is compressed, expected one that is stored as it is; ${ADVICE}`;
  }
  if (stored !== size) return `${stored} stored bytes cannot be a file of ${size}`;
  return isFolder && size ? 'it is a folder that has content' : null;
}

/** Another name, which some programs take instead. */
function nameProblem(raw: Uint8Array, extra: ReadonlyMap<number, Uint8Array>): string | null {
  const other = extra.get(NAME)?.subarray(5);
  const isSame = !other || (other.length === raw.length && other.every((b, i) => b === raw[i]));
  return isSame ? null : 'its name is not the one that it seems to have';
}

/** The entries with the places where they must end. */
function bounded(found: Entries, end: number, where: string): Map<string, Entry> {
  const sorted = [...found.values()].sort((a, b) => a.header - b.header);
  const result = new Map<string, Entry>();
  sorted.forEach((entry, i) => {
    const { name } = entry;
    const last = entry.header + entry.headerSize + entry.size;
    if (last > end) {
      throw new BundleError(
        `${where}: the entry ${quoted(name)} ends at byte ${last}, there is room until ${end}; the ` +
          'archive is truncated: copy it again',
      );
    }
    const next = sorted[i + 1];
    if (next && last > next.header) {
      throw new BundleError(
        `${where}: the entries ${quoted(name)} and ${quoted(next.name)} overlap`,
      );
    }
    entry.limit = next?.header ?? end;
    if (!name.endsWith('/')) result.set(name, entry);
  });
  return result;
}

/** The entries by paths in the bundle, which is at the top or in the one folder there. */
function below(found: Entries, where: string): Entries {
  if (found.has('bundle.pb')) return found;
  const tops = [...found.keys()].filter((name) => /^[^/]+\/bundle\.pb$/.test(name));
  if (tops.length !== 1) {
    const what = tops.length ? `has ${tops.length} bundles` : 'has no bundle.pb';
    throw new BundleError(`${where} ${what}, expected the archive of one bundle`);
  }
  const start = (tops[0] as string).slice(0, -'bundle.pb'.length);
  return new Map(
    [...found].flatMap(([name, entry]) =>
      name.startsWith(start) ? [[name.slice(start.length), entry] as const] : [],
    ),
  );
}

/** The entry of a file that is listed. */
export function entryAt(entries: Entries, file: string, where: string): Entry {
  const found = entries.get(file);
  if (found) return found;
  throw new BundleError(
    `${where} lacks ${JSON.stringify(file)}, which its manifest lists: copy or make it again`,
  );
}

/** An entry that may be read as a whole, or refused. */
export function checkLimit({ size }: Entry, limit: number, where: string): void {
  if (size > limit) {
    throw new BundleError(
      `${where}: it has ${size} bytes, expected at most ${limit}; it is damaged or was replaced: copy ` +
        'or save the bundle again',
    );
  }
}
