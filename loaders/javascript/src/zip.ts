/** ZIP files whose content is stored as it is: weights do not compress, and nothing is copied. */

import { portableCrc32 as crc32 } from './checksums.js';

const LIMIT = 0xffffffff;
/** Content begins at multiples of it, so that readers may map it where it is. */
const ALIGNMENT = 64;

/**
 * The pieces of a ZIP file, one after the other.
 *
 * @param files Content by path.
 * @throws RangeError it would have 4 GiB or more, which this form of the format cannot say.
 */
export function zipParts(files: Iterable<readonly [string, Uint8Array]>): Uint8Array[] {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let position = 0;
  for (const [path, data] of files) {
    const name = new TextEncoder().encode(path);
    // Version 2.0; names in UTF-8; stored; midnight of the first day of 1980.
    const common = [20, 0x800, 0, 0, 0x21];
    const sizes = [crc32(data), data.length, data.length];
    // A private field fills the room, as `zipalign` writes it.
    const begin = position + 30 + name.length + 6;
    const room = (ALIGNMENT - (begin % ALIGNMENT)) % ALIGNMENT;
    const local = record(0x04034b50, common, sizes, [name.length, 6 + room], []);
    const fill = new Uint8Array(6 + room);
    fill.set([0x35, 0xd9, 2 + room, 0, ALIGNMENT, 0]);
    const entry = [name.length, 0, 0, 0, 0];
    directory.push(record(0x02014b50, [20, ...common], sizes, entry, [0, position]), name);
    parts.push(local, name, fill, data);
    position = begin + room + data.length;
  }
  const size = directory.reduce((n, part) => n + part.length, 0);
  if (position + size > LIMIT) throw new RangeError(`${position + size} bytes, limit ${LIMIT}`);
  const count = directory.length / 2;
  const end = record(0x06054b50, [0, 0, count, count], [size, position], [0], []);
  return [...parts, ...directory, end];
}

/** A record: its mark, then numbers of 2, 4, 2 and 4 bytes. */
function record(mark: number, ...groups: readonly (readonly number[])[]): Uint8Array {
  const size = groups.reduce((n, group, i) => n + group.length * (i % 2 ? 4 : 2), 4);
  const view = new DataView(new ArrayBuffer(size));
  view.setUint32(0, mark, true);
  let at = 4;
  groups.forEach((group, i) => {
    for (const value of group) {
      if (i % 2) view.setUint32(at, value, true);
      else view.setUint16(at, value, true);
      at += i % 2 ? 4 : 2;
    }
  });
  return new Uint8Array(view.buffer);
}
