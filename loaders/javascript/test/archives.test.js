/** Bundles as one file, in Node: where they come from, what is read of them, and what is refused. */

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

import * as tfx from '../dist/node.js';
import { zipParts } from '../dist/zip.js';
import { bundleOf, corpus, copyOf, makeScratch, opened } from './scratch.js';

const scratch = makeScratch();
const STEP = { x: [[1, 2, 3]], y: [1] };
const LOOK = { i: [0, 2999] };
const ARCHIVE = path.join(corpus, 'archive', 'bundle.tfx');
const data = fs.readFileSync(ARCHIVE);

/** A bundle's folder as an archive, and as its path. */
function packed(name, file = path.join(scratch, `${name}.tfx`)) {
  const folder = bundleOf(name);
  const files = fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((item) => fs.statSync(path.join(folder, item)).isFile())
    .map((item) => [item, new Uint8Array(fs.readFileSync(path.join(folder, item)))]);
  fs.writeFileSync(file, Buffer.concat(zipParts(files)));
  return file;
}

const refused = (place, text, kind = tfx.BundleError) =>
  assert.rejects(
    tfx.Bundle.open(place).then((bundle) => bundle.verify()),
    (error) => {
      assert.ok(error instanceof kind, error.stack);
      assert.match(error.message, text);
      return true;
    },
  );

test('a path, a file: URL, a link, a buffer, a blob: all give the same', async () => {
  const link = path.join(scratch, 'link to it');
  fs.symlinkSync(ARCHIVE, link);
  const whole = new Uint8Array(data);
  const wider = new Uint8Array(data.length + 100).fill(7);
  wider.set(whole, 50);
  const places = [
    [ARCHIVE, ARCHIVE],
    [pathToFileURL(ARCHIVE), ARCHIVE],
    [link, link],
    [data, 'archive in memory'],
    [whole.buffer, 'archive in memory'],
    [wider.subarray(50, 50 + data.length), 'archive in memory'],
    [new DataView(whole.buffer), 'archive in memory'],
    [new Blob([data]), 'archive in memory'],
    [await fs.openAsBlob(ARCHIVE), 'archive in memory'],
  ];
  if (globalThis.File) places.push([new File([data], 'mine.tfx'), 'mine.tfx']);
  for (const freeze of [true, false]) {
    for (const [place, name] of places) {
      await opened(
        place,
        async (bundle) => {
          assert.equal(bundle.path, name);
          const { number, text } = await bundle.call('look', LOOK);
          assert.deepEqual(
            [number.toArray(), text.toArray()],
            [
              [0, 2999],
              ['a', '世界'],
            ],
          );
          await bundle.call('count');
          assert.equal((await bundle.call('count')).steps.item(), 2n);
          await bundle.verify();
        },
        { freeze },
      );
    }
  }
});

test('bytes that change after the bundle is open change nothing', async () => {
  const bytes = new Uint8Array(data);
  await opened(bytes, async (bundle) => {
    bytes.fill(0);
    assert.equal(bundle.variables.get('table').data[7], 7);
    await assert.rejects(bundle.call('look', LOOK), tfx.BundleError); // its graph has gone
  });
});

test('what is not needed is not read', async () => {
  const file = packed('large');
  const { readSync } = fs;
  let count = 0;
  fs.readSync = (...args) => {
    const read = readSync(...args);
    count += read;
    return read;
  };
  syncBuiltinESMExports();
  try {
    const { size } = fs.statSync(file);
    await opened(file, (b) => b.call('look', { i: [5] }), { verify: false });
    assert.ok(size > 17e6 && count < 200_000, `${count} of ${size} bytes`);
    const parts = [];
    const blob = new Blob([fs.readFileSync(file)]);
    const slice = blob.slice.bind(blob);
    blob.slice = (begin, end) => {
      parts.push(end - begin);
      return slice(begin, end);
    };
    await opened(blob, (b) => b.signatures.look);
    const weights = fs.statSync(path.join(bundleOf('large'), 'variables/model.safetensors')).size;
    const all = parts.reduce((a, b) => a + b, 0);
    assert.ok(parts.includes(weights) && all < weights + 200_000, String(parts));
  } finally {
    fs.readSync = readSync;
    syncBuiltinESMExports();
  }
});

test('weights of an archive are compared like those of a folder', async () => {
  const file = packed('large', path.join(scratch, 'flipped.tfx'));
  const bytes = fs.readFileSync(file);
  bytes[16 << 20] ^= 1; // in the first piece of the weights
  fs.writeFileSync(file, bytes);
  for (const place of [file, bytes]) {
    await opened(place, (bundle) =>
      assert.rejects(bundle.call('look', { i: [5] }), /model\.safetensors: .*CRC-32/),
    );
    await opened(place, (bundle) => bundle.call('look', { i: [5] }), { verify: false });
    await assert.rejects(tfx.Bundle.open(place, { verify: true }), /model\.safetensors: .*SHA-256/);
  }
});

test('saving writes a folder, and leaves the archive as it is', async () => {
  const file = path.join(scratch, 'saved.tfx');
  fs.copyFileSync(ARCHIVE, file);
  const folder = path.join(scratch, 'saved');
  await opened(file, async (bundle) => {
    await bundle.call('count');
    await assert.rejects(bundle.save(file), (error) => {
      assert.ok(error instanceof tfx.AlreadyExistsError);
      assert.match(error.message, /saved\.tfx: a file, expected .* a folder.*tfx convert/);
      return true;
    });
    await bundle.save(folder);
    await bundle.saveCheckpoint(path.join(scratch, 'checkpoint'));
    await bundle.restore(path.join(scratch, 'checkpoint'));
  });
  assert.deepEqual(fs.readFileSync(file), data);
  await opened(folder, async (bundle) => {
    assert.equal((await bundle.call('count')).steps.item(), 2n);
    await bundle.verify();
  });
  // The same bytes as from a folder.
  const [one, other] = [path.join(scratch, 'one'), path.join(scratch, 'other')];
  await opened(bundleOf('training'), (bundle) => bundle.save(one));
  await opened(packed('training'), (bundle) => bundle.save(other));
  for (const name of fs.readdirSync(one, { recursive: true, encoding: 'utf8' })) {
    if (!fs.statSync(path.join(one, name)).isFile()) continue;
    const [a, b] = [one, other].map((root) => fs.readFileSync(path.join(root, name)));
    assert.deepEqual(a, b, name);
  }
});

test('a new version comes from an archive, and from what was opened', async () => {
  const file = packed('training', path.join(scratch, 'version.tfx'));
  const folder = path.join(scratch, 'version');
  const count = async (bundle) => Number((await bundle.call('count')).steps.item());
  for (const place of [bundleOf('training'), file, fs.readFileSync(file)]) {
    await opened(place, async (bundle) => {
      await bundle.call('train_step', STEP);
      await bundle.save(folder);
      await bundle.reload(fs.readFileSync(file));
      assert.equal(await count(bundle), 0);
      await bundle.call('train_step', STEP);
      await bundle.reload(); // the bytes
      assert.equal(await count(bundle), 0);
      await bundle.reload(folder);
      assert.equal(await count(bundle), 1);
      await assert.rejects(bundle.reload(ARCHIVE), tfx.FailedPreconditionError);
      await assert.rejects(bundle.reload(data.subarray(0, 99)), tfx.BundleError);
      await bundle.reload(file);
      assert.deepEqual([await count(bundle), bundle.path], [0, file]);
    });
  }
  await opened(bundleOf('training'), async (bundle) => {
    await bundle.close();
    await assert.rejects(bundle.reload(file), tfx.FailedPreconditionError);
  });
});

test('what was opened is what is read; a session on what was replaced is refused', async () => {
  const file = path.join(scratch, 'replaced.tfx');
  fs.copyFileSync(ARCHIVE, file);
  await opened(file, async (bundle) => {
    fs.renameSync(packed('training'), file);
    assert.equal(bundle.variables.get('table').data[7], 7);
    await assert.rejects(bundle.call('look', LOOK), tfx.AbortedError);
    assert.equal((await bundle.call('count')).steps.item(), 1n); // it has no weights outside
  });
  fs.copyFileSync(ARCHIVE, file);
  await opened(file, async (bundle) => {
    fs.truncateSync(file, 100);
    assert.throws(() => bundle.variables.get('table'), /replaced\.tfx\/.*it ends early/);
  });
  await opened(ARCHIVE, async (bundle) => {
    await bundle.close();
    await assert.rejects(bundle.call('look', LOOK), tfx.FailedPreconditionError);
  });
});

test('what the system does not read is said', async () => {
  const { readSync } = fs;
  const bundle = await tfx.Bundle.open(ARCHIVE);
  const failing = (code) => () => {
    throw Object.assign(new Error(`${code}: not now`), { code });
  };
  try {
    for (const [code, kind] of [
      ['EIO', tfx.BundleError],
      ['EACCES', tfx.PermissionDeniedError],
    ]) {
      fs.readSync = failing(code);
      syncBuiltinESMExports();
      for (const place of [ARCHIVE, bundleOf('training')]) {
        await refused(place, new RegExp(`${code}: not now`), kind);
      }
      await assert.rejects(bundle.verify(), kind);
    }
  } finally {
    fs.readSync = readSync;
    syncBuiltinESMExports();
    await bundle.close();
  }
});

test('what is no archive is said', async () => {
  const file = path.join(scratch, 'text.tfx');
  fs.writeFileSync(file, 'text');
  await refused(file, /no such folder or archive/, tfx.NotFoundError);
  await refused(Buffer.from('text'), /its 4 bytes are no ZIP archive.*tfx convert/);
  await refused(new Blob([]), /its 0 bytes are no ZIP archive/);
  await refused(new ArrayBuffer(0), /no bytes/, tfx.InvalidArgumentError);
  await refused('https://example.test/m.tfx', /an address.*\.blob\(\)/, tfx.InvalidArgumentError);
  const folder = copyOf('shapes', path.join(scratch, 'folder.tfx')); // may have any name
  await opened(folder, (bundle) => bundle.verify());
});

const END = data.length - 22;
const list = data.readUInt32LE(END + 16);
const name = Buffer.from('look.onnx');
/** Where the list, and the local header, speak of a file. */
const central = data.lastIndexOf(name) - 46;
const local = data.readUInt32LE(central + 42);

/** A copy of the archive that is other. */
function other(change) {
  const copy = Buffer.from(data);
  return change(copy) ?? copy;
}

/** The archive with more extra fields of one file in its list. */
function withExtra(extra, change = () => undefined) {
  const copy = Buffer.from(data);
  change(copy);
  const at = central + 46 + name.length;
  copy.writeUInt16LE(copy.readUInt16LE(central + 30) + extra.length, central + 30);
  copy.writeUInt32LE(END - list + extra.length, END + 12);
  return Buffer.concat([copy.subarray(0, at), extra, copy.subarray(at)]);
}

/** A record of ZIP64 with its locator before the end, `short` being what 32 bits say. */
function withLarge(change = () => undefined, short = 0xffffffff) {
  const record = Buffer.alloc(76);
  record.write('PK\x06\x06', 0, 'latin1');
  record.writeBigUInt64LE(44n, 4);
  const count = data.readUInt16LE(END + 10);
  [count, count, END - list, list].forEach((n, i) => {
    record.writeBigUInt64LE(BigInt(n), 24 + 8 * i);
  });
  record.write('PK\x06\x07', 56, 'latin1');
  record.writeBigUInt64LE(BigInt(END), 64);
  record.writeUInt32LE(1, 72);
  change(record);
  const end = Buffer.from(data.subarray(END));
  end.writeUInt32LE(short, 12);
  return Buffer.concat([data.subarray(0, END), record, end]);
}

test('ZIP64 is read, and what it says is not believed either', async () => {
  const works = async (bytes) => {
    const file = path.join(scratch, 'large.tfx');
    fs.writeFileSync(file, bytes);
    for (const place of [file, bytes]) await opened(place, (bundle) => bundle.call('look', LOOK));
  };
  const size = data.readUInt32LE(central + 24);
  const wide = Buffer.alloc(4 + 16);
  wide.writeUInt16LE(1, 0);
  wide.writeUInt16LE(16, 2);
  wide.writeBigUInt64LE(BigInt(size), 4);
  wide.writeBigUInt64LE(BigInt(size), 12);
  const unsaid = (copy) => {
    copy.writeUInt32LE(0xffffffff, central + 20);
    copy.writeUInt32LE(0xffffffff, central + 24);
    copy.writeUInt32LE(0xffffffff, local + 18);
    copy.writeUInt32LE(0xffffffff, local + 22);
  };
  await works(withLarge());
  await works(withExtra(wide, unsaid));
  await refused(withExtra(wide.subarray(0, 0), unsaid), /truncated|overlap/);
  const lies = Buffer.from(wide);
  lies.writeBigUInt64LE(2n ** 63n, 4);
  await refused(withExtra(lies, unsaid), /stored bytes cannot be a file of/);
  lies.writeBigUInt64LE(2n ** 63n, 12);
  await refused(withExtra(lies, unsaid), /look\.onnx.*truncated|overlap/);
  await refused(
    withLarge(() => undefined, 10),
    /its two end records differ/,
  );
  const set = (at, value) => (record) => void record.writeBigUInt64LE(value, at);
  await refused(withLarge(set(64, 5n)), /ZIP64 record is wrong/);
  await refused(withLarge(set(4, 1000n)), /ZIP64 record is wrong/);
  await refused(withLarge(set(40, 2n ** 40n)), /list of entries has 1099511627776 bytes, limit/);
  await refused(withLarge(set(48, 2n ** 63n)), /two end records differ/);
  await refused(withLarge(set(24, 3n)), /two end records differ/);
});

test('lists, headers and ends that lie are refused', async () => {
  const field = Buffer.from([0x75, 0x70, 6, 0, 1, 0, 0, 0, 0, 120]); // another name
  const cases = [
    [withExtra(field), /"look\.onnx" is refused: its name is not the one/],
    [withExtra(Buffer.from([1, 0, 99, 0])), /extra fields of "look\.onnx" end early/],
    [withExtra(Buffer.from([1, 0, 0, 0, 1, 0, 0, 0])), /"look\.onnx" say something twice/],
    [withExtra(Buffer.concat([field, field])), /"look\.onnx" say something twice/],
    [other((c) => void c.writeUInt16LE(0x20, central + 8)), /its flags are 0x20/],
    [other((c) => void c.writeUInt8(0xe9, central + 46)), /not in UTF-8/],
    [other((c) => void c.writeUInt32LE(5, local + 18)), /look\.onnx.*local header/],
    [other((c) => void c.writeUInt32LE(5, local + 14)), /look\.onnx.*local header/],
    [other((c) => void c.writeUInt16LE(8, local + 8)), /look\.onnx.*local header/],
    [other((c) => void c.writeUInt16LE(60000, local + 28)), /reach into what follows/],
    [other((c) => void c.writeUInt16LE(1, END + 4)), /list of entries is not where/],
    [other((c) => void c.writeUInt16LE(3, END + 8)), /list of entries is not where/],
    [other((c) => void c.writeUInt16LE(7, END + 20)), /no end record/],
    [other((c) => void (c.writeUInt16LE(1, END + 8), c.writeUInt16LE(1, END + 10))), /behind the/],
    [other((c) => void (c.writeUInt16LE(99, END + 8), c.writeUInt16LE(99, END + 10))), /is none/],
    [other((c) => Buffer.concat([c, Buffer.from('more')])), /no end record/],
    [other((c) => Buffer.concat([Buffer.from('PK\x03\x04'), c])), /list of entries is not where/],
  ];
  const file = path.join(scratch, 'lying.tfx');
  for (const [bytes, text] of cases) {
    fs.writeFileSync(file, bytes);
    for (const place of [file, bytes]) await refused(place, text);
  }
  const comment = other((c) => {
    c.writeUInt16LE(4, END + 20);
    return Buffer.concat([c, Buffer.from('text')]);
  });
  await opened(comment, (bundle) => bundle.verify());
});

test('whatever byte is another one: an error of the loader, or what was saved', async () => {
  let state = 7919;
  const random = (n) => (state = (state * 48271) % 2147483647) % n;
  let count = 0;
  const file = path.join(scratch, 'damaged.tfx');
  for (let i = 0; i < 120; i++) {
    const copy = Buffer.from(data);
    const place = i % 2 ? random(data.length) : list + random(data.length - list);
    copy[place] ^= 1 << random(8);
    fs.writeFileSync(file, copy);
    for (const from of [file, copy]) {
      try {
        await opened(from, (bundle) => bundle.signatures, { verify: true });
      } catch (error) {
        count++;
        assert.ok(error instanceof tfx.OpError, `${place}: ${error.stack}`);
      }
    }
  }
  assert.ok(count > 60, `${count} refused`);
});
