/**
 * Run the conformance bundles and print what became of each as JSON: `node matrix.js WHERE FOLDER`,
 * WHERE being `node`, `browser`, `isolated` (cross-origin isolated) or `webgpu`.
 */

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { runCase } from './cases.js';
import { findChromium } from './chromium.js';

const [where, corpus] = process.argv.slice(2);
const names = fs.readdirSync(corpus).sort();
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tfx-matrix-'));
const found = {};
let missing = null;
try {
  const run = where === 'node' ? await inNode() : await inBrowser();
  for (const name of run ? names : []) {
    const record = JSON.parse(fs.readFileSync(path.join(corpus, name, 'case.json'), 'utf8'));
    found[name] = await run(name, record).then(
      (unsupported) => unsupported ?? 'pass',
      (error) => `${error.name}: ${error.message}`,
    );
  }
  await run?.close?.();
} finally {
  fs.rmSync(scratch, { recursive: true, force: true });
}
console.log(JSON.stringify(missing ?? found));

async function inNode() {
  const loader = await import('../dist/node.js');
  return (name, record) =>
    runCase(
      loader,
      record,
      () => loader.Bundle.open(path.join(corpus, name, record.bundle ?? 'bundle')),
      async (bundle) => {
        await bundle.save(path.join(scratch, name));
        await bundle.close();
        return loader.Bundle.open(path.join(scratch, name), { verify: true });
      },
    );
}

async function inBrowser() {
  const executablePath = findChromium();
  if (!executablePath) {
    missing = 'no Chromium: install it, or set CHROMIUM to its path';
    return null;
  }
  const { openPage } = await import('./page.js');
  const gpu = where === 'webgpu';
  const options = { executablePath, corpus, scratch, gpu, isolated: where === 'isolated' };
  const { page, close } = await openPage(options);
  if (gpu && !(await page.evaluate(async () => Boolean(await navigator.gpu?.requestAdapter())))) {
    await close();
    missing = 'no WebGPU adapter here';
    return null;
  }
  const run = (name, record) =>
    page.evaluate(
      ([name, record, device]) => {
        const options = { device, fallback: () => import('/ort/ort.wasm.min.mjs') };
        return runCase(
          loader,
          record,
          () => loader.Bundle.open(`/conformance/${name}/${record.bundle ?? 'bundle'}`, options),
          saveAgain(name, options),
          device === 'webgpu',
        );
      },
      [name, record, gpu ? 'webgpu' : 'wasm'],
    );
  return Object.assign(run, { close });
}
