/** Saving where others save too, where it is not allowed, and where somebody keeps files. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

import * as tfx from '../dist/node.js';
import { bundleOf, copyOf, makeScratch, opened } from './scratch.js';

const TRAINING = bundleOf('training');
const scratch = makeScratch();
const STEP = { x: [[1, 2, 3]], y: [1] };
const hidden = (folder) => fs.readdirSync(folder).filter((name) => name.startsWith('.'));

test('of two saves to one path the first to finish wins, and the other is told', async () => {
  const folder = path.join(scratch, 'both', 'bundle');
  await opened(TRAINING, async (bundle) => {
    for (let round = 0; round < 2; round++) {
      const saves = await Promise.allSettled([bundle.save(folder), bundle.save(folder)]);
      const reasons = saves.flatMap(({ reason }) => reason?.name ?? []);
      assert.deepEqual(reasons, ['AbortedError']);
      await opened(folder, (saved) => saved.verify(), { verify: true });
      assert.deepEqual(fs.readdirSync(path.dirname(folder)), ['bundle']);
    }
  });
});

test('files that somebody has put into the folder are kept', async () => {
  const folder = copyOf('training', path.join(scratch, 'kept'));
  fs.mkdirSync(path.join(folder, 'notes'));
  fs.writeFileSync(path.join(folder, 'notes', 'mine.txt'), 'mine');
  fs.writeFileSync(path.join(folder, 'README.md'), 'about');
  fs.symlinkSync('README.md', path.join(folder, 'link'));
  await opened(folder, async (bundle) => {
    await bundle.call('train_step', STEP);
    await bundle.save(folder);
  });
  assert.equal(fs.readFileSync(path.join(folder, 'notes', 'mine.txt'), 'utf8'), 'mine');
  assert.equal(fs.readlinkSync(path.join(folder, 'link')), 'README.md');
  await opened(folder, async (bundle) => {
    assert.equal((await bundle.call('count')).steps.item(), 1n);
  });
});

test('a bundle that a killed save has left aside is put back', async () => {
  const folder = copyOf('training', path.join(scratch, 'aside', 'bundle'));
  const aside = path.join(scratch, 'aside', '.bundle.tfx-replaced-1-00000000');
  fs.renameSync(folder, aside);
  await assert.rejects(tfx.Bundle.open(folder), (error) => {
    assert.ok(error instanceof tfx.NotFoundError);
    assert.match(error.message, /a save was interrupted.*\.bundle\.tfx-replaced.*rename it back/);
    return true;
  });
  await opened(TRAINING, (bundle) => bundle.save(folder));
  assert.deepEqual(hidden(path.dirname(folder)), []);
});

test('places are paths or file: URLs, with spaces and letters of any script', async () => {
  const folder = path.join(scratch, 'a b%20', '世界');
  await opened(TRAINING, (bundle) => bundle.save(pathToFileURL(folder)));
  await opened(pathToFileURL(folder), async (bundle) => {
    assert.equal(bundle.path, folder);
    await bundle.call('train_step', STEP);
  });
  await opened(pathToFileURL(folder).href, (bundle) => bundle.call('count'));
  const cwd = process.cwd();
  process.chdir(path.dirname(folder));
  try {
    const bundle = await tfx.Bundle.open('世界');
    process.chdir(cwd);
    await bundle.call('predict', { x: STEP.x });
    await bundle.close();
  } finally {
    process.chdir(cwd);
  }
});

test('an empty folder is filled, a file is not replaced', async () => {
  const empty = path.join(scratch, 'empty');
  fs.mkdirSync(empty);
  const file = path.join(scratch, 'file');
  fs.writeFileSync(file, 'x');
  await opened(TRAINING, async (bundle) => {
    await bundle.save(empty);
    await assert.rejects(bundle.save(file), tfx.AlreadyExistsError);
  });
  assert.equal(fs.readFileSync(file, 'utf8'), 'x');
  await opened(empty, (bundle) => bundle.verify());
});

test('a save that fails leaves nothing', async () => {
  const folder = copyOf('training', path.join(scratch, 'failing', 'source'));
  const target = path.join(scratch, 'failing', 'target');
  await opened(folder, async (bundle) => {
    await bundle.call('train_step', STEP);
    const file = path.join(folder, 'predict.onnx');
    fs.writeFileSync(
      file,
      fs.readFileSync(file).map((byte) => byte ^ 1),
    );
    await assert.rejects(bundle.save(target), tfx.BundleError);
  });
  assert.deepEqual(fs.readdirSync(path.dirname(folder)), ['source']);
});

test('what may not be read or written is said', (t) => {
  // As somebody whom permissions bind.
  const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
  if (!process.getuid) return t.skip('permissions are another matter here');
  const folder = path.join(scratch, 'denied');
  const secret = copyOf('training', path.join(folder, 'secret'));
  const shut = copyOf('training', path.join(folder, 'shut'));
  const open = copyOf('training', path.join(folder, 'open'));
  fs.mkdirSync(path.join(folder, 'full'));
  fs.chmodSync(scratch, 0o755);
  fs.chmodSync(secret, 0);
  fs.chmodSync(path.join(shut, 'predict.onnx'), 0);
  fs.chmodSync(path.join(folder, 'full'), 0o555);
  const program = `
import { Bundle } from ${JSON.stringify(new URL('../dist/node.js', import.meta.url).href)};
const found = [];
const attempt = (work) => work().then(() => found.push('nothing'), (e) => found.push(e.name + ': ' + e.message));
const [secret, shut, open, full] = process.argv.slice(1);
await attempt(() => Bundle.open(secret));
await attempt(async () => (await Bundle.open(shut)).call('predict', { x: [[1, 2, 3]] }));
const bundle = await Bundle.open(open);
await attempt(() => bundle.save(full + '/new'));
await attempt(() => bundle.saveCheckpoint(full + '/new'));
await attempt(() => bundle.restore(secret + '/x.safetensors'));
console.log(JSON.stringify(found));
`;
  const args = [
    '--input-type=module',
    '-e',
    program,
    secret,
    shut,
    open,
    path.join(folder, 'full'),
  ];
  try {
    let printed;
    try {
      printed = String(execFileSync(process.execPath, args, { ...user, cwd: '/', stdio: 'pipe' }));
    } catch (error) {
      if (!/EACCES|Cannot find/.test(String(error.stderr ?? error))) throw error;
      return t.skip('nobody may read this checkout');
    }
    const found = JSON.parse(printed);
    assert.equal(found.length, 5);
    for (const text of found) {
      assert.match(text, /^PermissionDeniedError: .*may not be (read|written).*permissions/);
    }
  } finally {
    fs.chmodSync(secret, 0o755);
    fs.chmodSync(path.join(folder, 'full'), 0o755);
  }
});
