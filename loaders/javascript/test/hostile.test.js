/** The hostile bundles of the tests in Python, which are more than those that all loaders share. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import * as tfx from '../dist/node.js';
import { makeScratch } from './scratch.js';

const scratch = makeScratch();
const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const python = process.env.TFX_PYTHON;

/** Lies about Python's objects and call trees, which a reader of signatures does not look at. */
const OF_OBJECTS =
  /^(child_|dict_|default_|field|metadata_|no_objects|object_|own_tuple|table_|trace_|tuples_|value_)/;
/** A value that nothing uses. */
const UNUSED = ['constant_of_bits'];

async function use(folder) {
  const bundle = await tfx.Bundle.open(folder);
  try {
    await bundle.warmup();
    for (const name of bundle.variables.names()) bundle.variables.get(name);
    for (const { structure } of Object.values(bundle.signatures)) assert.ok(structure);
    await bundle.files();
    await bundle.call('predict', { x: [[1, 2, 3]] });
  } finally {
    await bundle.close();
  }
}

test(
  'hostile bundles are refused with the file, soon, and in little memory',
  { skip: !python },
  async () => {
    const folder = path.join(scratch, 'hostile');
    const env = { ...process.env, PYTHONPATH: root };
    execFileSync(python, ['-m', 'tests.hostile.make', folder], { cwd: root, env, stdio: 'pipe' });
    const names = fs
      .readdirSync(folder)
      .filter((name) => name !== 'honest')
      .sort();
    await use(path.join(folder, 'honest', 'bundle'));
    let count = 0;
    for (const name of names) {
      const place = path.join(folder, name, 'bundle');
      if (!fs.existsSync(place)) continue;
      const start = Date.now();
      const error = await use(place).then(
        () => null,
        (e) => e,
      );
      assert.ok(Date.now() - start < 5000, `${name}: ${Date.now() - start} ms`);
      if (OF_OBJECTS.test(name) || UNUSED.includes(name)) {
        assert.ok(error === null || error instanceof tfx.OpError, `${name}: ${error?.stack}`);
        continue;
      }
      count++;
      assert.ok(error instanceof tfx.OpError, `${name}: ${error?.stack ?? 'it was accepted'}`);
      assert.ok(error.message.includes(place), `${name} does not say the place: ${error.message}`);
    }
    assert.ok(count > 90, `${count} cases`);
    const { rss } = process.memoryUsage();
    assert.ok(rss < 500e6, `${rss} bytes`);
  },
);
