/** What tests in Node share: the conformance bundles, a folder to write in, and open bundles. */

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';

import * as tfx from '../dist/node.js';

/** The folder that loaders/conformance/make.py made. */
export const corpus = process.env.TFX_CONFORMANCE;
if (!corpus)
  throw new Error('set TFX_CONFORMANCE to the folder that loaders/conformance/make.py made');

/** The bundle of a case. */
export const bundleOf = (name) => path.join(corpus, name, 'bundle');

/** A folder that is gone after the tests. */
export function makeScratch() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tfx-test-'));
  after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A copy of a case's bundle that may be damaged. */
export function copyOf(name, folder) {
  fs.rmSync(folder, { recursive: true, force: true });
  fs.cpSync(bundleOf(name), folder, { recursive: true });
  return folder;
}

/** Do something with an open bundle. */
export async function opened(folder, work, options) {
  const bundle = await tfx.Bundle.open(folder, options);
  try {
    return await work(bundle);
  } finally {
    await bundle.close();
  }
}

/** Change a byte of a file; negative places count from its end. */
export function flip(file, place) {
  const descriptor = fs.openSync(file, 'r+');
  try {
    const at = place < 0 ? fs.fstatSync(descriptor).size + place : place;
    const byte = Buffer.alloc(1);
    fs.readSync(descriptor, byte, 0, 1, at);
    byte[0] ^= 16;
    fs.writeSync(descriptor, byte, 0, 1, at);
  } finally {
    fs.closeSync(descriptor);
  }
}
