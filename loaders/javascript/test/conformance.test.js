/** The conformance bundles, in Node. TFX_CONFORMANCE says where they are. */

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import * as loader from '../dist/node.js';
import { runCase } from './cases.js';

const root = process.env.TFX_CONFORMANCE;
if (!root)
  throw new Error('set TFX_CONFORMANCE to the folder that loaders/conformance/make.py made');
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tfx-conformance-'));
after(() => fs.rmSync(scratch, { recursive: true, force: true }));

/** Bundles of earlier releases, which stay readable for ever. */
const archive = path.join(
  path.dirname(fileURLToPath(import.meta.url)),
  '..',
  '..',
  '..',
  'tests',
  'archive',
);
const folders = fs
  .readdirSync(archive, { recursive: true, encoding: 'utf8' })
  .filter((name) => path.basename(name) === 'case.json')
  .map((name) => path.join(archive, path.dirname(name)));
folders.push(...fs.readdirSync(root).map((name) => path.join(root, name)));

for (const folder of folders.sort()) {
  const name = path.relative(folder.startsWith(root) ? root : archive, folder);
  const record = JSON.parse(fs.readFileSync(path.join(folder, 'case.json'), 'utf8'));
  test(`${name}: ${record.about}`, async () => {
    const open = () => loader.Bundle.open(path.join(folder, record.bundle ?? 'bundle'));
    const saveAgain = async (bundle) => {
      const target = path.join(scratch, name);
      await bundle.save(target);
      await bundle.close();
      return loader.Bundle.open(target, { verify: true });
    };
    await runCase(loader, record, open, saveAgain);
  });
}
