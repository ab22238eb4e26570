/**
 * CRC-32s of pieces of files and tensors: damage is found at the speed of memory.
 *
 * See SPEC.md, sections 3.1 and 11.
 */

/** Bytes that one sum is of; the last piece may be shorter. */
export const PIECE = 2 ** 24;

/** Computes the CRC-32 of bytes. */
export type Crc32 = (data: Uint8Array) => number;

/** Tables for four bytes at once: three times as quick as one. */
const TABLES = Array.from({ length: 4 }, () => new Uint32Array(256)) as [
  Uint32Array,
  Uint32Array,
  Uint32Array,
  Uint32Array,
];
const [FIRST, SECOND, THIRD, FOURTH] = TABLES;

function fillTables(): void {
  for (let n = 0; n < 256; n++) {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    FIRST[n] = c;
  }
  TABLES.slice(1).forEach((table, k) => {
    const before = TABLES[k] as Uint32Array;
    for (let n = 0; n < 256; n++) {
      const c = before[n] as number;
      table[n] = (FIRST[c & 255] as number) ^ (c >>> 8);
    }
  });
}

/** The CRC-32 of zlib, gzip and PNG, where the platform has none. */
export const portableCrc32: Crc32 = (data) => {
  if (!FIRST[1]) fillTables();
  const at = (table: Uint32Array, index: number) => table[index & 255] as number;
  const byte = (index: number) => data[index] as number;
  let c = -1;
  let i = 0;
  for (; i + 4 <= data.length; i += 4) {
    c ^= byte(i) | (byte(i + 1) << 8) | (byte(i + 2) << 16) | (byte(i + 3) << 24);
    c = at(FOURTH, c) ^ at(THIRD, c >>> 8) ^ at(SECOND, c >>> 16) ^ at(FIRST, c >>> 24);
  }
  for (; i < data.length; i++) c = at(FIRST, c ^ byte(i)) ^ (c >>> 8);
  return ~c >>> 0;
};

/** How many pieces so many bytes have. */
export function pieceCount(nbytes: number): number {
  return Math.ceil(nbytes / PIECE);
}

/** The sums of the pieces of bytes that lie in several parts, one after the other. */
export function sumsOf(parts: readonly Uint8Array[], crc32: Crc32): number[] {
  if (parts.length === 1) {
    const data = parts[0] as Uint8Array;
    return Array.from({ length: pieceCount(data.length) }, (_, i) =>
      crc32(data.subarray(i * PIECE, (i + 1) * PIECE)),
    );
  }
  const size = parts.reduce((n, part) => n + part.length, 0);
  const piece = new Uint8Array(Math.min(PIECE, size));
  const sums: number[] = [];
  let used = 0;
  for (const part of parts) {
    for (let at = 0; at < part.length;) {
      const count = Math.min(piece.length - used, part.length - at);
      piece.set(part.subarray(at, at + count), used);
      at += count;
      used += count;
      if (used === PIECE) {
        sums.push(crc32(piece));
        used = 0;
      }
    }
  }
  if (used) sums.push(crc32(piece.subarray(0, used)));
  return sums;
}

/** Eight hexadecimal digits. */
export function digits(sum: number): string {
  return sum.toString(16).padStart(8, '0');
}

/** Texts in the order of their code points, as Python has it, and not of their code units. */
export function byCodePoint(a: string, b: string): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x === y) continue;
    // Halves of pairs stand for what is beyond all others.
    const isHigh = (unit: number) => unit >= 0xd800 && unit < 0xe000;
    return isHigh(x) === isHigh(y) ? x - y : isHigh(x) ? 1 : -1;
  }
  return a.length - b.length;
}
