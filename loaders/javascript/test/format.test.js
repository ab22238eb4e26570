/** Rules of loaders/SPEC.md that no bundle of the corpus is about. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';

import * as tfx from '../dist/node.js';
import { pathProblem } from '../dist/paths.js';
import { decode } from '../dist/tensor.js';
import * as wire from '../dist/wire.js';
import { bundleOf, copyOf, makeScratch, opened } from './scratch.js';

const scratch = makeScratch();
const { bytesField, fields, joined, numberField, textField } = wire;

/** A copy of a bundle whose manifest is other: with a right digest, or a wrong one. */
function changed(name, change, isSealed = true) {
  const folder = copyOf('shapes', path.join(scratch, name));
  const file = path.join(folder, 'bundle.pb');
  const data = new Uint8Array(fs.readFileSync(file));
  const body = change(data.subarray(0, data.length - 35));
  const digest = createHash('sha256').update(body).digest();
  if (!isSealed) digest[0] ^= 1;
  fs.writeFileSync(file, joined(body, Uint8Array.of(0xa2, 0x01, 0x20), digest));
  return folder;
}

const refused = (folder, kind, text) =>
  assert.rejects(tfx.Bundle.open(folder), (error) => {
    assert.ok(error instanceof kind, error.stack);
    assert.match(error.message, text);
    return true;
  });

test('section 2: each rule of paths', () => {
  const good = ['a', 'a/b.c', 'ü/世界 1', '.hidden', 'x'.repeat(1024), '𝒳'.repeat(1024)];
  for (const name of good) assert.equal(pathProblem(name), null, name);
  const bad = ['', '/a', 'a//b', 'a/', './a', 'a/../b', '..', 'a.', 'a /b', 'x'.repeat(1025)];
  bad.push('𝒳'.repeat(1025), ...Array.from('\\:*?"<>|\0\n\x7f\u200e\u2028\ud800', (c) => `a${c}b`));
  for (const name of bad) assert.equal(typeof pathProblem(name), 'string', JSON.stringify(name));
});

test('section 2: files that are not listed are left alone, whatever they are', async () => {
  const folder = copyOf('shapes', path.join(scratch, 'more'));
  fs.symlinkSync('/nowhere/at all', path.join(folder, 'link'));
  fs.writeFileSync(path.join(folder, 'noise.onnx'), 'noise');
  await opened(folder, async (bundle) => {
    await bundle.verify();
    assert.ok(!(await bundle.files()).has('noise.onnx'));
  });
});

test('section 3: version, then digest, then features', async () => {
  const version = (n) => (body) => joined(body, numberField(1, n));
  const feature = (body) => joined(body, bytesField(4, textField(4, 'telepathy')));
  const { BundleError, UnsupportedVersionError } = tfx;
  await refused(changed('newer', version(2), false), UnsupportedVersionError, /version 2/);
  await refused(changed('none', version(0), false), BundleError, /no format version/);
  await refused(changed('feature', feature, false), BundleError, /SHA-256/);
  await refused(changed('known', feature), UnsupportedVersionError, /"telepathy"/);
});

test('section 3: fields that nobody knows are ignored, and kept in what is saved', async () => {
  const unknown = bytesField(2000, Uint8Array.of(1, 2, 3));
  const folder = changed('later', (body) => joined(body, unknown, numberField(2001, 7)));
  const target = path.join(scratch, 'again');
  await opened(folder, (bundle) => bundle.save(target));
  const kept = fields(new Uint8Array(fs.readFileSync(path.join(target, 'bundle.pb'))));
  const of = (number) => kept.find((field) => field.number === number);
  assert.deepEqual([...of(2000).bytes()], [1, 2, 3]);
  assert.equal(of(2001).number53(), 7);
});

test('section 3: messages that come in parts are one, and of single values the last counts', () =>
  opened(
    changed('parts', (body) => joined(numberField(1, 0), body, bytesField(4, new Uint8Array()))),
    async (bundle) => assert.ok(bundle.signatures.weigh),
  ));

test('section 4: what bytes of bools and strings may be', () => {
  const bad = (bytes, dtype, text) =>
    assert.throws(() => decode(Uint8Array.from(bytes), dtype, [1], 'it'), {
      name: 'BundleError',
      message: text,
    });
  bad([2], 'bool', /neither 0 nor 1/);
  const offset = (n) => [n, 0, 0, 0, 0, 0, 0, 0];
  const text = [...new TextEncoder().encode('ü')];
  const whole = Uint8Array.from([...offset(0), ...offset(2), ...text]);
  assert.deepEqual(decode(whole, 'string', [1], 'it').data, ['ü']);
  bad([...offset(1), ...offset(2), ...text], 'string', /offsets/);
  bad([...offset(0), ...offset(1), ...text], 'string', /offsets/);
  bad([...offset(0), ...offset(9), ...text], 'string', /offsets/);
  bad([...offset(0), ...offset(1), 0xff], 'string', /UTF-8/);
  bad([...offset(0)], 'string', /at least 16/);
  bad([1, 2, 3], 'float32', /3 bytes/);
  assert.deepEqual([...decode(Uint8Array.of(0xf1, 0x07), 'int4', [3], 'it').data], [1, -1, 7]);
  assert.deepEqual([...decode(Uint8Array.of(0xf1, 0x07), 'uint4', [3], 'it').data], [1, 15, 7]);
});

test('section 11: of both forms of a checkpoint the single file counts', () =>
  opened(bundleOf('training'), async (bundle) => {
    const prefix = path.join(scratch, 'both');
    await bundle.saveCheckpoint(prefix);
    fs.writeFileSync(`${prefix}.safetensors.index.json`, '{"weight_map": {"kernel": "gone"}}');
    assert.deepEqual(await bundle.restore(prefix), []);
  }));

test('section 13: a limit is checked before memory is taken', async () => {
  const folder = copyOf('shapes', path.join(scratch, 'great'));
  fs.truncateSync(path.join(folder, 'bundle.pb'), 2 ** 33); // a hole, which takes no room
  await refused(folder, tfx.BundleError, /bundle\.pb: it has 8589934592 bytes, expected at most/);
  assert.ok(process.memoryUsage().rss < 500e6);
  const long = (size) => (body) => joined(body, bytesField(13, textField(1, '𝒳'.repeat(size))));
  await refused(changed('long', long(65_537)), tfx.BundleError, /name has 65537 characters/);
});

test('fields are those that the protobuf library reads and writes', () => {
  for (const size of [0, 1, 127, 128, 16_384, 300_000]) {
    const data = new Uint8Array(size).fill(size);
    const theirs = new BinaryWriter()
      .tag(20, 2)
      .bytes(data)
      .tag(3, 0)
      .uint64(size * 2 ** 20);
    const ours = joined(bytesField(20, data), numberField(3, size * 2 ** 20));
    assert.ok(Buffer.from(theirs.finish()).equals(ours), `${size}`);
  }
  const numbers = [0, 1, 2 ** 32 - 1];
  const reader = new BinaryReader(wire.fixed32sField(4, numbers));
  assert.deepEqual(reader.tag(), [4, 2]);
  assert.equal(reader.uint32(), 12);
  assert.deepEqual([reader.fixed32(), reader.fixed32(), reader.fixed32()], numbers);
  assert.deepEqual(fields(wire.fixed32sField(4, numbers))[0].fixed32s(), numbers);
  assert.equal(fields(textField(1, '\ufeff世界'))[0].text(), '\ufeff世界');
});

test('bytes that are no message are refused', () => {
  const cut = [
    [0x0a, 0x81, 0x80, 0x80, 0x80, 0x10, 0], // of 2^32 + 1 bytes
    [0x0a, 2, 0],
    [0x08],
    [0x08, 0x80],
    [0x08, ...Array(10).fill(0x80), 0], // a number of more than 64 bits
    [0x09, 0, 0],
    [0x0d, 0],
    [0x0b], // groups
    [0x0c],
    [0x0e],
    [0x02, 0], // the field 0
    [0x8a, 0x80, 0x80, 0x80, 0x10, 0], // one beyond 2^29
  ];
  for (const bytes of cut) {
    assert.throws(() => fields(Uint8Array.from(bytes)), wire.WireError, String(bytes));
  }
  const [field] = fields(bytesField(1, Uint8Array.of(0x80)));
  assert.throws(() => field.numbers(), wire.WireError);
  assert.throws(() => field.fixed32s(), wire.WireError);
  assert.throws(() => field.number53(), wire.WireError);
  assert.throws(() => fields(Uint8Array.of(0x0a, 1, 0xff))[0].text(), wire.WireError);
  const big = new BinaryWriter()
    .tag(1, 0)
    .uint64(2n ** 64n - 1n)
    .finish();
  assert.equal(fields(big)[0].big(), 2n ** 64n - 1n);
  assert.throws(() => fields(big)[0].number53(), /too great/);
});
