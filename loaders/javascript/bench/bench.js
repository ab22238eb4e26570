/**
 * Measures the loader, and prints what came out as one JSON object.
 *
 * `node bench.js calls|browser|training|open FOLDER`: FOLDER is a bundle, or for `browser` and
 * `training` one that bench/javascript.py has made, with `batches.json` beside the bundle.
 */

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

import * as ort from 'onnxruntime-node';

import { Bundle } from '../dist/node.js';
import { compareCalls } from './calls.js';

const [what, folder] = process.argv.slice(2);
const batches = () => JSON.parse(fs.readFileSync(path.join(folder, 'batches.json'), 'utf8'));

/** Call overhead over a bare session, which gets the same weights as initializers. */
async function calls() {
  const bundle = await Bundle.open(path.join(folder, 'bundle'));
  const file = path.join(folder, 'bundle', bundle.signatures.serving_default.file);
  const session = await ort.InferenceSession.create(file, { logSeverityLevel: 4 });
  return compareCalls(ort, bundle, session, batches()[0].image);
}

/**
 * Print the losses of a training run; then, for each line of milliseconds that comes, train so long
 * and print the steps a second.
 */
async function training() {
  const bundle = await Bundle.open(path.join(folder, 'bundle'));
  const given = batches().map(({ image, label, shape }) => ({
    image: { data: Float32Array.from(image), shape },
    label: BigInt64Array.from(label, BigInt),
  }));
  const losses = [];
  for (const batch of given) losses.push((await bundle.call('train_step', batch)).loss.item());
  console.log(JSON.stringify(losses));
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const start = performance.now();
    let steps = 0;
    while (performance.now() - start < Number(line)) {
      await bundle.call('train_step', given[steps++ % given.length]);
    }
    console.log(String((1000 * steps) / (performance.now() - start)));
  }
}

/** Seconds that opening takes; the best of several. */
async function open() {
  let best = Infinity;
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    const bundle = await Bundle.open(folder);
    best = Math.min(best, (performance.now() - start) / 1000);
    await bundle.close();
  }
  return { seconds: best };
}

/** The first two in a browser. */
async function browser() {
  const { findChromium } = await import('../test/chromium.js');
  const { openPage } = await import('../test/page.js');
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tfx-bench-'));
  const executablePath = findChromium();
  if (!executablePath) return null;
  const { page, close } = await openPage({ executablePath, corpus: folder, scratch });
  try {
    return await page.evaluate(async () => {
      const ort = await import('onnxruntime-web');
      const { compareCalls } = await import('/bench/calls.js');
      const batches = await (await fetch('/conformance/batches.json')).json();
      const bundle = await loader.Bundle.open('/conformance/bundle');
      const name = bundle.signatures.serving_default.file;
      const weights = await (
        await fetch('/conformance/bundle/variables/model.safetensors')
      ).arrayBuffer();
      const model = await (await fetch(`/conformance/bundle/${name}`)).arrayBuffer();
      const session = await ort.InferenceSession.create(new Uint8Array(model), {
        logSeverityLevel: 4,
        externalData: [{ path: 'variables/model.safetensors', data: new Uint8Array(weights) }],
      });
      const found = await compareCalls(ort, bundle, session, batches[0].image);
      const losses = [];
      for (const { image, label, shape } of batches) {
        const input = {
          image: { data: Float32Array.from(image), shape },
          label: BigInt64Array.from(label, BigInt),
        };
        losses.push((await bundle.call('train_step', input)).loss.item());
      }
      return { ...found, losses };
    });
  } finally {
    await close();
    fs.rmSync(scratch, { recursive: true, force: true });
  }
}

const result = await { calls, browser, training, open }[what]();
if (result !== undefined) console.log(JSON.stringify(result));
