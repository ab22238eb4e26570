/** Taking the variables of another version, and when large files are compared. */

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import * as tfx from '../dist/node.js';
import { bundleOf, copyOf, flip, makeScratch, opened } from './scratch.js';

const TRAINING = bundleOf('training');
const scratch = makeScratch();
const X = Array.from({ length: 4 }, (_, i) => [i, 1, -i]);
const Y = [0, 1, 2, 3];
const WEIGHTS = path.join('variables', 'model.safetensors');

/** A later version of the training bundle: so many steps on. */
async function later(steps, name) {
  const folder = path.join(scratch, name);
  await opened(TRAINING, async (bundle) => {
    for (let i = 0; i < steps; i++) await bundle.call('train_step', { x: X, y: Y });
    await bundle.save(folder);
  });
  return folder;
}

const predict = async (bundle) => (await bundle.call('predict', { x: X })).y.toArray();
const near = (found, expected) =>
  found.forEach((y, i) => assert.ok(Math.abs(y - expected[i]) < 1e-6, `${y}, ${expected[i]}`));

test('a new version with the same graphs is taken while it is open', async () => {
  const folder = await later(3, 'later');
  const expected = await opened(folder, async (bundle) => ({
    predicted: await predict(bundle),
    loss: (await bundle.call('train_step', { x: X, y: Y })).loss.item(),
  }));
  await opened(TRAINING, async (bundle) => {
    const old = await predict(bundle); // a session that holds the old weights is open
    await bundle.call('train_step', { x: X, y: Y });
    const before = bundle.variables.get('kernel').toArray();
    await bundle.reload(folder);
    assert.equal(bundle.path, folder);
    near(await predict(bundle), expected.predicted);
    assert.notDeepEqual(await predict(bundle), old);
    assert.notDeepEqual(bundle.variables.get('kernel').toArray(), before);
    assert.equal((await bundle.call('count')).steps.item(), 3n);
    const { loss } = await bundle.call('train_step', { x: X, y: Y });
    assert.ok(Math.abs(loss.item() - expected.loss) < 1e-6);
    await bundle.save(path.join(scratch, 'saved_after')); // relative to the new files
    await bundle.reload(TRAINING);
    near(await predict(bundle), old);
  });
  await opened(path.join(scratch, 'saved_after'), async (bundle) => {
    assert.equal((await bundle.call('count')).steps.item(), 4n);
  });
});

test('a new version in its own folder, after which the old files are gone', async () => {
  const folder = copyOf('training', path.join(scratch, 'own'));
  const next = await later(2, 'next');
  await opened(folder, async (bundle) => {
    await bundle.call('count');
    fs.rmSync(folder, { recursive: true });
    fs.renameSync(next, folder);
    await bundle.reload();
    assert.equal((await bundle.call('count')).steps.item(), 2n);
    assert.equal((await predict(bundle)).length, 4);
  });
});

test('calls that have begun end with the old variables, in order', async () => {
  const folder = await later(5, 'fifth');
  await opened(TRAINING, async (bundle) => {
    const step = () => bundle.call('train_step', { x: X, y: Y });
    const losses = [step(), step()];
    const reload = bundle.reload(folder);
    const count = async () => Number((await bundle.call('count')).steps.item());
    const [first] = await Promise.all([count(), ...losses, reload]);
    assert.equal(first, 0);
    assert.equal(await count(), 5);
    // Many at once, with reloads in between: each call sees one version whole.
    const work = [];
    for (let i = 0; i < 20; i++) {
      work.push(predict(bundle));
      if (i % 5 === 0) work.push(bundle.reload(i % 2 ? TRAINING : folder));
    }
    await Promise.all(work);
  });
});

test('a bundle with other graphs is refused, and nothing has changed', async () => {
  const damaged = copyOf('training', path.join(scratch, 'damaged'));
  flip(path.join(damaged, WEIGHTS), -1);
  await opened(TRAINING, async (bundle) => {
    const before = await predict(bundle);
    for (const [folder, kind, text] of [
      [bundleOf('shapes'), tfx.FailedPreconditionError, /no variable "[a-z]/],
      [path.join(scratch, 'nowhere'), tfx.NotFoundError, /nowhere/],
      [damaged, tfx.BundleError, /SHA-256/],
    ]) {
      await assert.rejects(bundle.reload(folder), (error) => {
        assert.ok(error instanceof kind, error.stack);
        assert.match(error.message, text);
        return true;
      });
      assert.deepEqual(await predict(bundle), before);
    }
    assert.equal(bundle.path, TRAINING);
  });
  await opened(bundleOf('lines'), async (bundle) => {
    await assert.rejects(bundle.reload(bundleOf('structures')), /signatures/);
  });
});

test('a bundle that is closed or being closed takes no other version', async () => {
  const bundle = await tfx.Bundle.open(TRAINING);
  const folder = await later(1, 'first');
  const reload = bundle.reload(folder);
  await bundle.close();
  await reload;
  await assert.rejects(bundle.reload(folder), tfx.FailedPreconditionError);
});

test('a large file is compared when something of it is first used', async () => {
  const folder = copyOf('large', path.join(scratch, 'large'));
  const file = path.join(folder, WEIGHTS);
  flip(file, -1); // in the second piece; what `look` uses lies in the first
  await opened(folder, async (bundle) => {
    assert.deepEqual((await bundle.call('look', { i: [0, 7] })).y.toArray(), [0, 7]);
    assert.equal(bundle.variables.get('a').data[9], 9);
    await assert.rejects(bundle.call('move', { by: 1 }), /bytes from 16777216 to .* CRC-32/);
    assert.throws(() => bundle.variables.get('b'), tfx.BundleError);
    await assert.rejects(bundle.verify(), /model.safetensors: its SHA-256/);
    await assert.rejects(bundle.save(path.join(scratch, 'never')), tfx.BundleError);
    assert.ok(!fs.existsSync(path.join(scratch, 'never')));
  });
  await assert.rejects(tfx.Bundle.open(folder, { verify: true }), /its SHA-256/);
  await opened(folder, (bundle) => bundle.call('move', { by: 1 }), { verify: false });
  flip(file, 100); // in the header
  await assert.rejects(
    opened(folder, (b) => b.call('look', { i: [0] })),
    tfx.BundleError,
  );
});

test('what Node saves has sums of pieces that Node and Python compare', async () => {
  const folder = path.join(scratch, 'summed');
  await opened(bundleOf('large'), async (bundle) => {
    await bundle.verify();
    await bundle.call('move', { by: 1 });
    await bundle.save(folder);
  });
  await opened(folder, async (bundle) => {
    assert.equal((await bundle.call('move', { by: 1 })).last.item(), 4);
  });
  flip(path.join(folder, WEIGHTS), -1);
  await opened(folder, async (bundle) => {
    await assert.rejects(bundle.call('move', { by: 1 }), /CRC-32/);
  });
});
