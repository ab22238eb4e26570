/** SHA-256 where the platform has none: pages that are not secure, and callers that cannot wait. */

/** The first 64 primes. */
const PRIMES: number[] = [];
for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every((p) => n % p)) PRIMES.push(n);

/** The first 32 bits behind the point. */
const fraction = (x: number) => (x - Math.floor(x)) * 2 ** 32;
const START = Int32Array.from(PRIMES.slice(0, 8), (p) => fraction(Math.sqrt(p)) | 0);
const ROUNDS = Int32Array.from(PRIMES, (p) => fraction(Math.cbrt(p)) | 0);

/** The SHA-256 of bytes. */
export function portableSha256(data: Uint8Array): Uint8Array {
  const state = Int32Array.from(START);
  const words = new Int32Array(64);
  const whole = data.length - (data.length % 64);
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  for (let at = 0; at < whole; at += 64) addBlock(state, words, view, at);
  // The rest, one bit, zeros, and the number of bits.
  const rest = data.length - whole;
  const last = new DataView(new ArrayBuffer(rest < 56 ? 64 : 128));
  new Uint8Array(last.buffer).set(data.subarray(whole));
  last.setUint8(rest, 0x80);
  last.setBigUint64(last.byteLength - 8, BigInt(data.length) * 8n);
  for (let at = 0; at < last.byteLength; at += 64) addBlock(state, words, last, at);
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => {
    digest.setInt32(4 * i, word);
  });
  return new Uint8Array(digest.buffer);
}

function turned(x: number, n: number): number {
  return (x >>> n) | (x << (32 - n));
}

function addBlock(state: Int32Array, words: Int32Array, view: DataView, at: number): void {
  for (let i = 0; i < 16; i++) words[i] = view.getInt32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const x = words[i - 15] as number;
    const y = words[i - 2] as number;
    const s0 = turned(x, 7) ^ turned(x, 18) ^ (x >>> 3);
    const s1 = turned(y, 17) ^ turned(y, 19) ^ (y >>> 10);
    words[i] = (words[i - 16] as number) + s0 + (words[i - 7] as number) + s1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < 64; i++) {
    const s1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const one = (h + s1 + ((e & f) ^ (~e & g)) + (ROUNDS[i] as number) + (words[i] as number)) | 0;
    const s0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + s0 + ((b & c) ^ (b & d) ^ (c & d))) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((x, i) => {
    state[i] = (state[i] as number) + x;
  });
}
