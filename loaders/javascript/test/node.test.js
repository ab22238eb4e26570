/** What a program in Node does with a bundle. TFX_CONFORMANCE says where the bundles are. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';

import * as tfx from '../dist/node.js';

const corpus = process.env.TFX_CONFORMANCE;
if (!corpus)
  throw new Error('set TFX_CONFORMANCE to the folder that loaders/conformance/make.py made');
const TRAINING = path.join(corpus, 'training', 'bundle');
const SHAPES = path.join(corpus, 'shapes', 'bundle');
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tfx-node-'));
after(() => fs.rmSync(scratch, { recursive: true, force: true }));

const X = Array.from({ length: 4 }, (_, i) => [i, 1, -i]);
const Y = [0, 1, 2, 3];

async function opened(folder, work, options) {
  const bundle = await tfx.Bundle.open(folder, options);
  try {
    return await work(bundle);
  } finally {
    await bundle.close();
  }
}

test('signatures say what they take and give', () =>
  opened(TRAINING, (bundle) => {
    const { train_step: step } = bundle.signatures;
    assert.equal(String(step), 'train_step(x: float32[n, 3], y: float32[n]) -> loss: float32[]');
    assert.deepEqual(step.inputs.x, { name: 'x', dtype: 'float32', shape: ['n', 3] });
    assert.ok(step.updates.includes('kernel'));
    assert.deepEqual(bundle.signatures.predict.updates, []);
    assert.equal(step.file, 'train_step.onnx');
  }));

test('values come in many forms', () =>
  opened(SHAPES, async (bundle) => {
    const flat = Float32Array.of(0, 1, 2, 3, 4, 5);
    const rows = [
      [0, 1, 2],
      [3, 4, 5],
    ];
    const y = [1, 2];
    const forms = [
      rows,
      flat,
      { data: flat, shape: [2, 3] },
      { data: flat, dims: [2, 3], type: 'float32' },
      new tfx.Tensor('float32', flat, [2, 3]),
    ];
    for (const x of forms) {
      const { sum, n } = await bundle.call('weigh', { x, y });
      assert.deepEqual(sum.toArray(), [6, 9, 12]);
      assert.equal(n.item(), 2);
    }
    assert.deepEqual((await bundle.call('transpose', { x: rows })).y.toArray(), [
      [0, 3],
      [1, 4],
      [2, 5],
    ]);
    assert.equal((await bundle.call('scalar', { x: 2 })).y.item(), 3);
  }));

test('errors name signature, argument, what came and what was wanted', () =>
  opened(SHAPES, async (bundle) => {
    const x = [[1, 2, 3]];
    const cases = [
      [
        { x, y: [1, 2] },
        tfx.InvalidArgumentError,
        /"weigh".*"y" has 2 for dimension "n".*"x" has 1/,
      ],
      [
        { x: [[1, 2]], y: [1] },
        tfx.InvalidArgumentError,
        /"x" is float32\[1, 2\], expected float32\[n, 3\]/,
      ],
      [{ x, why: [1] }, tfx.InvalidArgumentError, /no input "why"; did you mean "y"\?/],
      [{ x }, tfx.InvalidArgumentError, /needs the input "y".*x float32\[n, 3\], y float32\[n\]/],
      [
        { x, y: Float64Array.of(1) },
        tfx.DTypeMismatchError,
        /"y" is Float64Array, expected float32\[n\]/,
      ],
      [{ x, y: [[1], 2] }, tfx.InvalidArgumentError, /different lengths or depths/],
      [{ x, y: [1e39] }, tfx.InvalidArgumentError, /1e\+39/],
      [{ x, y: [null] }, tfx.InvalidArgumentError, /"y"/],
      [{ x, y: null }, tfx.InvalidArgumentError, /"y"/],
    ];
    for (const [inputs, kind, text] of cases) {
      await assert.rejects(bundle.call('weigh', inputs), (error) => {
        assert.ok(error instanceof kind, error.stack);
        assert.match(error.message, text);
        return true;
      });
    }
    await assert.rejects(bundle.call('weight', {}), /no signature "weight"; did you mean "weigh"/);
    await assert.rejects(bundle.call('constructor', {}), tfx.NotFoundError);
  }));

test('calls to a signature that writes are done in the order in which they were made', () =>
  opened(TRAINING, async (bundle) => {
    const losses = await Promise.all(
      Array.from({ length: 10 }, () => bundle.call('train_step', { x: X, y: Y })),
    );
    assert.equal((await bundle.call('count')).steps.item(), 10n);
    const together = losses.map(({ loss }) => loss.item());
    const single = await opened(TRAINING, async (other) => {
      const found = [];
      for (let i = 0; i < 10; i++) {
        found.push((await other.call('train_step', { x: X, y: Y })).loss.item());
      }
      return found;
    });
    assert.deepEqual(together, single);
  }));

test('a call that fails leaves variables as they were, and those after it work', () =>
  opened(TRAINING, async (bundle) => {
    const before = bundle.variables.get('kernel').toArray();
    const calls = await Promise.allSettled([
      bundle.call('train_step', { x: X, y: [1] }),
      bundle.variables.assign({ head: [1, 2, 3] }),
      bundle.variables.assign({ kernel: bundle.variables.get('kernel'), nothing: 1 }),
    ]);
    assert.deepEqual(
      calls.map((call) => call.reason?.name),
      ['InvalidArgumentError', 'InvalidArgumentError', 'NotFoundError'],
    );
    assert.deepEqual(bundle.variables.get('kernel').toArray(), before);
    await bundle.call('train_step', { x: X, y: Y });
    assert.notDeepEqual(bundle.variables.get('kernel').toArray(), before);
  }));

test('what was read stays as it was', () =>
  opened(TRAINING, async (bundle) => {
    const kernel = bundle.variables.get('kernel');
    const copy = kernel.toArray();
    kernel.data.fill(7);
    assert.deepEqual(bundle.variables.get('kernel').toArray(), copy);
    const given = Float32Array.of(1, 2, 3, 4);
    await bundle.variables.assign({ head: given });
    given.fill(0);
    assert.deepEqual(bundle.variables.get('head').toArray(), [1, 2, 3, 4]);
  }));

test('frozen and fed weights give the same', async () => {
  const answer = (options) =>
    opened(TRAINING, async (b) => (await b.call('predict', { x: X })).y.toArray(), options);
  const [frozen, fed] = [await answer({}), await answer({ freeze: false })];
  frozen.forEach((value, i) => assert.ok(Math.abs(value - fed[i]) < 1e-6));
});

test(
  'Python loads what Node has trained, and goes on',
  { skip: !process.env.TFX_PYTHON },
  async () => {
    const folder = path.join(scratch, 'trained');
    const expected = await opened(TRAINING, async (bundle) => {
      for (let i = 0; i < 5; i++) await bundle.call('train_step', { x: X, y: Y });
      await bundle.save(folder);
      await bundle.save(folder); // also onto a bundle
      await bundle.saveCheckpoint(path.join(scratch, 'checkpoint'));
      return (await bundle.call('train_step', { x: X, y: Y })).loss.item();
    });
    const program = `
import sys, numpy as np, tfx as tf
folder, checkpoint, x, y = sys.argv[1], sys.argv[2], eval(sys.argv[3]), eval(sys.argv[4])
model = tf.saved_model.load(folder)
assert int(model.count()["steps"]) == 5
restored = tf.train.load_checkpoint(checkpoint).get_tensor("kernel")
np.testing.assert_array_equal(restored, model.kernel.numpy())
print(repr(float(model.train_step(np.float32(x), np.float32(y))["loss"])))
tf.train.Checkpoint(model).write(checkpoint + "_of_python")
`;
    const found = execFileSync(process.env.TFX_PYTHON, [
      '-c',
      program,
      folder,
      path.join(scratch, 'checkpoint'),
      JSON.stringify(X),
      JSON.stringify(Y),
    ]);
    assert.ok(Math.abs(Number(String(found)) - expected) < 1e-5 * Math.abs(expected));
    await opened(TRAINING, async (bundle) => {
      assert.deepEqual(await bundle.restore(path.join(scratch, 'checkpoint_of_python')), []);
      assert.equal((await bundle.call('count')).steps.item(), 6n);
    });
  },
);

test('a checkpoint brings variables back', () =>
  opened(TRAINING, async (bundle) => {
    const prefix = path.join(scratch, 'deep', 'start');
    await bundle.saveCheckpoint(prefix);
    const before = bundle.variables.get('kernel').toArray();
    await bundle.call('train_step', { x: X, y: Y });
    assert.deepEqual(await bundle.restore(prefix), []);
    assert.deepEqual(bundle.variables.get('kernel').toArray(), before);
    const data = fs.readFileSync(`${prefix}.safetensors`);
    data[data.length - 1] ^= 1;
    fs.writeFileSync(`${prefix}.safetensors`, data);
    await assert.rejects(bundle.restore(prefix), tfx.BundleError);
    await assert.rejects(bundle.restore(path.join(scratch, 'nothing')), tfx.NotFoundError);
  }));

test('a folder of other things is not replaced', () =>
  opened(TRAINING, async (bundle) => {
    const folder = path.join(scratch, 'precious');
    fs.mkdirSync(folder);
    fs.writeFileSync(path.join(folder, 'file'), 'x');
    await assert.rejects(bundle.save(folder), tfx.AlreadyExistsError);
    assert.deepEqual(fs.readdirSync(folder), ['file']);
    assert.deepEqual(
      fs.readdirSync(scratch).filter((name) => name.startsWith('.')),
      [],
    );
  }));

test('a closed bundle says so, after the calls that were under way', async () => {
  const bundle = await tfx.Bundle.open(TRAINING);
  const call = bundle.call('train_step', { x: X, y: Y });
  const closing = bundle.close();
  assert.ok(Number.isFinite((await call).loss.item()));
  await closing;
  const closed = tfx.FailedPreconditionError;
  await assert.rejects(bundle.call('predict', { x: X }), closed);
  await assert.rejects(bundle.save(path.join(scratch, 'never')), closed);
  assert.throws(() => bundle.variables.get('kernel'), closed);
  await bundle.close();
});

test('a bundle that is being closed takes nothing new', async () => {
  const bundle = await tfx.Bundle.open(TRAINING);
  const calls = [bundle.call('train_step', { x: X, y: Y }), bundle.checkpoint()];
  const closing = bundle.close();
  await assert.rejects(bundle.call('count'), tfx.FailedPreconditionError);
  await assert.rejects(
    bundle.variables.assign({ head: [0, 0, 0, 0] }),
    tfx.FailedPreconditionError,
  );
  assert.throws(() => bundle.variables.get('head'), tfx.FailedPreconditionError);
  await Promise.all(calls);
  await closing;
});

test('a runtime that is too old is said before a graph is read', async () => {
  for (const name of ['hostile_future_opset', 'hostile_future_ir', 'hostile_absurd_opset']) {
    const folder = path.join(scratch, name);
    fs.cpSync(path.join(corpus, name, 'bundle'), folder, { recursive: true });
    await opened(folder, async (bundle) => {
      for (const file of fs.readdirSync(folder).filter((file) => file.endsWith('.onnx'))) {
        fs.truncateSync(path.join(folder, file)); // nobody is to look at it
      }
      await assert.rejects(bundle.call('predict', { x: X }), (error) => {
        assert.ok(error instanceof tfx.UnsupportedVersionError, error.stack);
        assert.match(error.message, /needs opset \d+ and IR version \d+.*upgrade it/);
        return true;
      });
    });
  }
});

test('opening and closing again and again does not gather memory', () => {
  const program = `
import { Bundle } from ${JSON.stringify(new URL('../dist/node.js', import.meta.url).href)};
const use = async () => {
  const bundle = await Bundle.open(process.argv[1]);
  for (let i = 0; i < 3; i++) await bundle.call('train_step', { x: [[1, 2, 3]], y: [1] });
  await bundle.call('predict', { x: [[1, 2, 3]] });
  await bundle.close();
};
for (let i = 0; i < 20; i++) await use();
gc();
const before = process.memoryUsage().rss;
for (let i = 0; i < 60; i++) await use();
gc();
console.log(process.memoryUsage().rss - before);
`;
  const args = ['--expose-gc', '--input-type=module', '-e', program, TRAINING];
  const grown = Number(String(execFileSync(process.execPath, args)));
  assert.ok(grown < 30e6, `${grown} bytes in 60 turns`);
});

test('what is no bundle is said to be none', async () => {
  await assert.rejects(tfx.Bundle.open(path.join(scratch, 'nowhere')), tfx.NotFoundError);
  await assert.rejects(tfx.Bundle.open(scratch), /no bundle.pb/);
  await assert.rejects(tfx.Bundle.open(new URL(import.meta.url).pathname), tfx.NotFoundError);
});

test('a link that leads out of the bundle is refused', async () => {
  const folder = path.join(scratch, 'linked');
  fs.cpSync(TRAINING, folder, { recursive: true });
  fs.renameSync(path.join(folder, 'predict.onnx'), path.join(scratch, 'outside.onnx'));
  fs.symlinkSync(path.join(scratch, 'outside.onnx'), path.join(folder, 'predict.onnx'));
  await assert.rejects(tfx.Bundle.open(folder), /a link that leads out of the bundle/);
});

test('a bundle that is replaced while it is open is noticed', async () => {
  const folder = path.join(scratch, 'replaced');
  fs.cpSync(TRAINING, folder, { recursive: true });
  const bundle = await tfx.Bundle.open(folder);
  const weights = path.join(folder, 'variables', 'model.safetensors');
  fs.copyFileSync(weights, `${weights}.new`);
  fs.renameSync(`${weights}.new`, weights);
  await assert.rejects(bundle.call('predict', { x: X }), tfx.AbortedError);
  await bundle.close();
});

test('every cut and every flipped bit is noticed', async () => {
  const folder = path.join(scratch, 'damaged');
  fs.cpSync(TRAINING, folder, { recursive: true });
  const files = ['bundle.pb', 'predict.onnx', 'variables/model.safetensors'];
  let seed = 1;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  for (const name of files) {
    const file = path.join(folder, name);
    const honest = fs.readFileSync(file);
    for (let i = 0; i < 60; i++) {
      const data = Buffer.from(honest);
      const cut = i % 3 === 0;
      if (!cut) data[random(data.length)] ^= 1 << random(8);
      fs.writeFileSync(file, cut ? data.subarray(0, random(data.length)) : data);
      await assert.rejects(
        opened(folder, (bundle) => bundle.warmup()),
        (error) => error instanceof tfx.BundleError || error instanceof tfx.UnsupportedVersionError,
      );
    }
    fs.writeFileSync(file, honest);
  }
  await opened(folder, (bundle) => bundle.warmup(), { verify: true });
});

test('an error of a kernel names the line of the program that was traced', async () => {
  await opened(path.join(corpus, 'lines', 'bundle'), async (bundle) => {
    await assert.rejects(bundle.call('pick', { i: [7] }), (error) => {
      assert.ok(error instanceof tfx.InvalidArgumentError);
      assert.match(error.message, /signature "pick" failed at node '.*' \(.*make\.py:\d+.*pick/);
      return true;
    });
    assert.deepEqual((await bundle.call('pick', { i: [1] })).y.toArray(), [20]);
  });
});
