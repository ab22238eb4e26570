/** Screenshots made smaller: PNG files with a palette. */

import zlib from 'node:zlib';

/**
 * A picture in at most 256 colours: its most frequent ones, and for others the nearest of those.
 *
 * @param data A PNG file with 8 bits a channel, not interlaced, as browsers make them.
 */
export function withPalette(data) {
  const { width, height, channels, bytes } = decoded(data);
  const counts = new Map();
  const colors = new Int32Array(width * height);
  for (let i = 0; i < colors.length; i++) {
    const at = i * channels;
    colors[i] = (bytes[at] << 16) | (bytes[at + 1] << 8) | bytes[at + 2];
    counts.set(colors[i], (counts.get(colors[i]) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a).map(([color]) => color);
  const palette = sorted.slice(0, 256);
  const index = new Map(palette.map((color, i) => [color, i]));
  for (const color of sorted.slice(256)) index.set(color, nearest(color, palette));
  const rows = Buffer.alloc(height * (width + 1)); // each row begins with its filter: 0, none
  colors.forEach((color, i) => {
    rows[i + Math.floor(i / width) + 1] = index.get(color);
  });
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3], 8);
  const table = Buffer.from(palette.flatMap((c) => [c >> 16, (c >> 8) & 255, c & 255]));
  return Buffer.concat([
    data.subarray(0, 8),
    chunk('IHDR', header),
    chunk('PLTE', table),
    chunk('IDAT', zlib.deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function nearest(color, palette) {
  const distance = (other) =>
    [16, 8, 0].reduce((sum, s) => sum + (((color >> s) & 255) - ((other >> s) & 255)) ** 2, 0);
  let best = 0;
  palette.forEach((other, i) => {
    if (distance(other) < distance(palette[best])) best = i;
  });
  return best;
}

function decoded(data) {
  const parts = [];
  let [width, height, channels] = [0, 0, 0];
  for (let at = 8; at < data.length;) {
    const size = data.readUInt32BE(at);
    const kind = data.toString('latin1', at + 4, at + 8);
    const content = data.subarray(at + 8, at + 8 + size);
    if (kind === 'IHDR') {
      [width, height] = [content.readUInt32BE(0), content.readUInt32BE(4)];
      channels = content[9] === 6 ? 4 : 3;
    } else if (kind === 'IDAT') parts.push(content);
    at += 12 + size;
  }
  const stride = width * channels;
  const packed = zlib.inflateSync(Buffer.concat(parts));
  const bytes = new Uint8Array(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = packed[y * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x;
      const left = x >= channels ? bytes[at - channels] : 0;
      const up = y ? bytes[at - stride] : 0;
      const corner = y && x >= channels ? bytes[at - stride - channels] : 0;
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
      bytes[at] = packed[at + y + 1] + guess;
    }
  }
  return { width, height, channels, bytes };
}

function paeth(left, up, corner) {
  const guess = left + up - corner;
  const [a, b, c] = [left, up, corner].map((value) => Math.abs(guess - value));
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

function chunk(kind, content) {
  const body = Buffer.concat([Buffer.from(kind, 'latin1'), content]);
  const frame = Buffer.alloc(8 + body.length);
  frame.writeUInt32BE(content.length, 0);
  body.copy(frame, 4);
  frame.writeUInt32BE(crc32(body), 4 + body.length);
  return frame;
}

function crc32(data) {
  let c = 0xffffffff;
  for (const byte of data) {
    c ^= byte;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  }
  return (c ^ 0xffffffff) >>> 0;
}
