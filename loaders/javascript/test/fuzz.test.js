/** Bundles damaged at random: only errors of the loader come out, soon, and memory stays small. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const corpus = process.env.TFX_CONFORMANCE;
if (!corpus)
  throw new Error('set TFX_CONFORMANCE to the folder that loaders/conformance/make.py made');
const program = path.join(path.dirname(fileURLToPath(import.meta.url)), 'fuzz.js');
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tfx-fuzz-'));
after(() => fs.rmSync(scratch, { recursive: true, force: true }));

for (const [name, seed] of [
  ['training', 7919],
  ['storage', 104729],
]) {
  test(`${name}, seed ${seed}`, () => {
    const bundle = path.join(corpus, name, 'bundle');
    const args = ['--max-old-space-size=256', program, bundle, scratch, String(seed), '4'];
    const { tried, refused, megabytes } = JSON.parse(String(execFileSync(process.execPath, args)));
    assert.ok(tried >= 5 && refused >= 1, `${tried} tried, ${refused} refused`);
    assert.ok(megabytes < 400, `${megabytes} MB`);
  });
}
