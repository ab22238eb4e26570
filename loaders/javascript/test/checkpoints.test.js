/** Checkpoints in one file and in several, in Node and in Python. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import * as tfx from '../dist/node.js';
import { bundleOf, flip, makeScratch, opened } from './scratch.js';

const TRAINING = bundleOf('training');
const scratch = makeScratch();
const STEP = { x: [[1, 2, 3]], y: [1] };
const python = process.env.TFX_PYTHON;
const run = (program, ...args) => String(execFileSync(python, ['-c', program, ...args])).trim();

const files = (folder) => fs.readdirSync(folder).sort();
const trained = (work, options) =>
  opened(
    TRAINING,
    async (bundle) => {
      await bundle.call('train_step', STEP);
      return work(bundle);
    },
    options,
  );

test('above the limit a checkpoint is shards with an index', async () => {
  const folder = path.join(scratch, 'shards');
  const prefix = path.join(folder, 'model');
  await trained(
    async (bundle) => {
      const kernel = bundle.variables.get('kernel').toArray();
      assert.equal(await bundle.saveCheckpoint(prefix), `${prefix}.safetensors.index.json`);
      const names = files(folder);
      assert.ok(names.length > 3, String(names));
      const pattern =
        /^model\.([0-9a-f]{16}-\d{5}-of-\d{5}\.safetensors|safetensors\.index\.json)$/;
      names.forEach((name) => assert.match(name, pattern));
      await bundle.call('train_step', STEP);
      assert.deepEqual(await bundle.restore(prefix), []);
      assert.deepEqual(bundle.variables.get('kernel').toArray(), kernel);
      // The next one takes the place of all of its files.
      await bundle.saveCheckpoint(prefix);
      assert.equal(files(folder).length, names.length);
      assert.equal(files(folder).filter((name) => names.includes(name)).length, 1);
    },
    { maxShardBytes: 40 },
  );
  await trained(async (bundle) => {
    await bundle.saveCheckpoint(prefix);
    assert.deepEqual(files(folder), ['model.safetensors']);
  });
});

test('shards that are damaged, missing or of two checkpoints are refused', async () => {
  const folder = path.join(scratch, 'broken');
  const prefix = path.join(folder, 'model');
  await trained(
    async (bundle) => {
      const save = async () => {
        await bundle.saveCheckpoint(prefix);
        const index = JSON.parse(fs.readFileSync(`${prefix}.safetensors.index.json`, 'utf8'));
        return Object.fromEntries(
          Object.entries(index.weight_map).map(([key, file]) => [key, path.join(folder, file)]),
        );
      };
      const refused = async (kind, text) => {
        const before = bundle.variables.get('head').toArray();
        await assert.rejects(bundle.restore(prefix), (error) => {
          assert.ok(error instanceof kind, error.stack);
          assert.match(error.message, text);
          return true;
        });
        assert.deepEqual(bundle.variables.get('head').toArray(), before);
      };
      let places = await save();
      flip(places.kernel, -1);
      await refused(tfx.BundleError, /"kernel".*CRC-32/);
      places = await save();
      flip(places.kernel, 20);
      await refused(tfx.BundleError, /model\.[0-9a-f]/);
      places = await save();
      fs.rmSync(places.head);
      await refused(tfx.NotFoundError, /no such file of the checkpoint/);
      const old = fs.readFileSync((await save()).kernel);
      await bundle.call('train_step', STEP);
      places = await save();
      fs.writeFileSync(places.kernel, old);
      await refused(tfx.BundleError, /something else than other files/);
      for (const text of ['{}', '[', '{"weight_map": {"a": 1}}', '{"weight_map": {"a": "../x"}}']) {
        fs.writeFileSync(`${prefix}.safetensors.index.json`, text);
        await refused(tfx.BundleError, /index\.json/);
      }
    },
    { maxShardBytes: 40 },
  );
});

test('every byte of a checkpoint counts', () =>
  trained(async (bundle) => {
    const data = await bundle.checkpoint();
    const before = bundle.variables.get('kernel').toArray();
    let isFirst = 0;
    for (let i = 0; i < data.length; i += 1 + (i % 3)) {
      const copy = new Uint8Array(data);
      copy[i] ^= 1 << (i % 8);
      await assert.rejects(bundle.restoreFrom(copy), (error) => {
        assert.ok(error instanceof tfx.OpError, error.stack);
        return true;
      });
      isFirst++;
    }
    for (const size of [0, 7, 8, 100, data.length - 1]) {
      await assert.rejects(bundle.restoreFrom(data.subarray(0, size)), tfx.BundleError);
    }
    assert.ok(isFirst > 100);
    assert.deepEqual(bundle.variables.get('kernel').toArray(), before);
    assert.deepEqual(await bundle.restoreFrom(data), []);
  }));

test('Python and Node read the shards of each other', { skip: !python }, async () => {
  const folder = path.join(scratch, 'python');
  const theirs = path.join(folder, 'theirs');
  const ours = path.join(folder, 'ours');
  await trained((bundle) => bundle.saveCheckpoint(ours), { maxShardBytes: 40 });
  const program = `
import sys, numpy as np, tfx as tf
bundle, ours, theirs = sys.argv[1:]
model = tf.saved_model.load(bundle)
reader = tf.train.load_checkpoint(ours)
assert int(reader.get_tensor("steps")) == 1, reader.get_tensor("steps")
model.kernel.assign(reader.get_tensor("kernel") * 2)
options = tf.train.CheckpointOptions(max_shard_bytes=40)
tf.train.Checkpoint(model).write(theirs, options)
print(model.kernel.numpy().reshape(-1).tolist())
`;
  const kernel = JSON.parse(run(program, TRAINING, ours, theirs));
  assert.ok(fs.existsSync(`${theirs}.safetensors.index.json`), String(files(folder)));
  await opened(TRAINING, async (bundle) => {
    assert.deepEqual(await bundle.restore(theirs), []);
    assert.deepEqual([...bundle.variables.get('kernel').data], kernel);
  });
});

test('names that sort and quote differently, and files of other programs', async () => {
  await opened(bundleOf('storage'), async (bundle) => {
    const data = await bundle.checkpoint();
    await bundle.call('shift', { by: 2 });
    assert.deepEqual(await bundle.restoreFrom(data), []);
    assert.deepEqual(bundle.variables.get('texts').toArray(), ['a', '', '世界']);
    assert.equal(bundle.variables.get('table').data[1], 1);
  });
  await opened(TRAINING, async (bundle) => {
    const header = JSON.stringify({
      head: { dtype: 'F32', shape: [4], data_offsets: [0, 16] },
    });
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    const values = Buffer.from(Float32Array.of(1, 2, 3, 4).buffer);
    const missing = await bundle.restoreFrom(Buffer.concat([length, Buffer.from(header), values]));
    assert.ok(missing.includes('kernel') && !missing.includes('head'));
    assert.deepEqual(bundle.variables.get('head').toArray(), [1, 2, 3, 4]);
  });
});

test('places are paths or URLs, and odd names are refused', () =>
  trained(async (bundle) => {
    const place = new URL('a b/ü/model', `file://${scratch}/`);
    const file = await bundle.saveCheckpoint(place);
    assert.equal(file, path.join(scratch, 'a b', 'ü', 'model.safetensors'));
    assert.deepEqual(await bundle.restore(place.href), []);
    await assert.rejects(bundle.saveCheckpoint(path.join(scratch, 'a:b')), /a relative|character/);
    await assert.rejects(bundle.restore(scratch), tfx.NotFoundError);
  }));
