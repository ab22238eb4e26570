/**
 * Damages bundles at random and opens them, until the time is over.
 *
 * `node fuzz.js BUNDLE SCRATCH SEED SECONDS`: prints how many were tried and refused, as JSON. It
 * fails if anything but an error of the loader comes out, or if one bundle takes longer than 5 s.
 * What is damaged gets right hashes and sizes, so that the readers behind them are reached.
 */

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

import * as tfx from '../dist/node.js';
import { fields, bytesField, joined, numberField, textField } from '../dist/wire.js';

const [source, scratch, seedText, seconds] = process.argv.slice(2);
let state = Number(seedText) || 1;
const random = (n) => (state = (state * 48271) % 2147483647) % n;
const pick = (items) => items[random(items.length)];
const sha256 = (data) => createHash('sha256').update(data).digest();

const honest = new Map();
for (const item of fs.readdirSync(source, { recursive: true, withFileTypes: true })) {
  const full = path.join(item.parentPath ?? item.path, item.name);
  if (item.isFile()) honest.set(path.relative(source, full), fs.readFileSync(full));
}

const NASTY = [0, 1, 127, 128, 255, 0x7fffffff, 0xffffffff, 2 ** 31, 2 ** 53, 2 ** 62];
const TEXTS = [
  '',
  '../x',
  '/etc/passwd',
  '__proto__',
  'constructor',
  'x'.repeat(70_000),
  '\0',
  'é',
];

/** Change a message of Protocol Buffers somewhere, at any depth. */
function changedMessage(data, depth = 0) {
  let all;
  try {
    all = fields(data);
  } catch {
    return changedBytes(data);
  }
  if (!all.length) return bytesField(1 + random(20), randomBytes(random(40)));
  const chosen = random(all.length);
  const parts = all.map((field, i) => {
    const raw = data.subarray(field.start, field.end);
    if (i !== chosen) return raw;
    let content = null;
    try {
      content = field.bytes();
    } catch {
      // a number
    }
    const how = random(8);
    if (content && content.length && how < 5 && depth < 12) {
      return bytesField(field.number, changedMessage(content, depth + 1));
    }
    if (how === 5) return new Uint8Array();
    if (how === 6) return joined(raw, raw);
    if (content) {
      return random(2)
        ? textField(field.number, pick(TEXTS))
        : bytesField(field.number, changedBytes(content));
    }
    const value = pick(NASTY);
    return numberField(field.number, Number.isSafeInteger(value) ? value : 0);
  });
  return joined(...parts);
}

function changedBytes(data) {
  const copy = Buffer.from(data);
  const how = random(4);
  if (how === 0 || !copy.length) return randomBytes(random(200));
  if (how === 1) return copy.subarray(0, random(copy.length));
  for (let i = 0; i <= random(4); i++) copy[random(copy.length)] = random(256);
  return how === 2 ? copy : Buffer.concat([copy, randomBytes(random(30))]);
}

const randomBytes = (n) => Buffer.from(Array.from({ length: n }, () => random(256)));

/** Change the header of a safetensors file: its length, its text, or one value in it. */
function changedTensors(data) {
  const length = Number(data.readBigUInt64LE(0));
  let text = data.toString('utf8', 8, 8 + length);
  const how = random(4);
  if (how === 0) return changedBytes(data);
  if (how === 1) {
    const copy = Buffer.from(data);
    copy.writeBigUInt64LE(BigInt(pick(NASTY)), 0);
    return copy;
  }
  const numbers = [...text.matchAll(/-?\d+|"[^"]*"/g)];
  const { index, 0: found } = pick(numbers);
  const values = ['-1', '1e400', '0.5', '9007199254740993', 'null', '[]', '{}', '"I64"', '"x"'];
  values.push('"__metadata__"', '"__proto__"', '"\\ud800"', '1'.repeat(400), '['.repeat(5000));
  text = text.slice(0, index) + pick(values) + text.slice(index + found.length);
  const head = Buffer.alloc(8);
  head.writeBigUInt64LE(BigInt(Buffer.byteLength(text)), 0);
  return Buffer.concat([head, Buffer.from(text), data.subarray(8 + length)]);
}

/** The manifest with the sizes and hashes of what the files are now, and a right digest. */
function sealed(manifest, files) {
  const parts = fields(manifest)
    .filter((f) => f.number !== 20)
    .map((f) => {
      const raw = manifest.subarray(f.start, f.end);
      if (f.number !== 5) return raw;
      let name = '';
      try {
        name = fields(f.bytes())
          .find((x) => x.number === 1)
          ?.text();
      } catch {
        return raw;
      }
      const data = files.get(name);
      if (!data) return raw;
      return bytesField(
        5,
        joined(textField(1, name), numberField(2, data.length), bytesField(3, sha256(data))),
      );
    });
  const body = joined(...parts);
  return joined(body, Uint8Array.of(0xa2, 1, 32), sha256(body));
}

async function use(folder) {
  const bundle = await tfx.Bundle.open(folder);
  try {
    await bundle.warmup();
    for (const name of bundle.variables.names()) bundle.variables.get(name);
    await bundle.files();
  } finally {
    await bundle.close();
  }
}

const counts = { tried: 0, refused: 0, slowest: 0 };
const folder = path.join(scratch, 'fuzzed');
const end = Date.now() + 1000 * Number(seconds);
while (Date.now() < end) {
  const began = state;
  const files = new Map(honest);
  const name = pick([...honest.keys()]);
  const data = files.get(name);
  let manifest = honest.get('bundle.pb');
  if (name === 'bundle.pb') manifest = changedMessage(manifest);
  else files.set(name, name.endsWith('.onnx') ? changedMessage(data) : changedTensors(data));
  try {
    files.set('bundle.pb', random(10) ? sealed(manifest, files) : manifest);
  } catch {
    files.set('bundle.pb', manifest);
  }
  for (const [file, content] of files) {
    fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    fs.writeFileSync(path.join(folder, file), content);
  }
  const start = Date.now();
  counts.tried++;
  try {
    await use(folder);
  } catch (error) {
    counts.refused++;
    if (!(error instanceof tfx.OpError)) {
      console.error(`seed ${began}, ${name}: ${error.stack}`);
      process.exit(1);
    }
  }
  counts.slowest = Math.max(counts.slowest, Date.now() - start);
}
counts.megabytes = Math.round(process.memoryUsage().rss / 1e6);
console.log(JSON.stringify(counts));
if (counts.slowest > 5000) process.exit(1);
