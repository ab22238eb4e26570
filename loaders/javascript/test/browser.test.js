/** Bundles in a real browser, with and without cross-origin isolation. */

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { findChromium } from './chromium.js';
import { openPage } from './page.js';

const corpus = process.env.TFX_CONFORMANCE;
if (!corpus)
  throw new Error('set TFX_CONFORMANCE to the folder that loaders/conformance/make.py made');
const executablePath = findChromium();
const skip = executablePath ? false : 'no Chromium: install it, or set CHROMIUM to its path';

for (const isolated of [false, true]) {
  describe(`a page that is ${isolated ? '' : 'not '}cross-origin isolated`, { skip }, () => {
    let close, page, server, scratch;
    const faults = {};

    before(async () => {
      scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tfx-browser-'));
      const options = { executablePath, corpus, scratch, isolated, faults };
      ({ page, server, close } = await openPage(options));
    });

    after(async () => {
      await close?.();
      fs.rmSync(scratch, { recursive: true, force: true });
    });

    test('has the isolation that it should', async () => {
      assert.equal(await page.evaluate(() => crossOriginIsolated), isolated);
    });

    for (const name of fs.readdirSync(corpus).sort()) {
      const record = JSON.parse(fs.readFileSync(path.join(corpus, name, 'case.json'), 'utf8'));
      test(`${name}: ${record.about}`, async () => {
        await page.evaluate(
          ([name, record]) =>
            runCase(
              loader,
              record,
              () => loader.Bundle.open(`/conformance/${name}/bundle`),
              saveAgain(name),
            ),
          [name, record],
        );
      });
    }

    test('reports progress, and takes the second time from the cache', async () => {
      const open = () =>
        page.evaluate(async () => {
          const seen = [];
          const options = { onProgress: (p) => seen.push([p.loaded, p.total]) };
          const bundle = await loader.Bundle.open('/conformance/storage/bundle', options);
          await bundle.call('look', { i: [0] });
          await bundle.close();
          return seen;
        });
      await page.evaluate(() => caches.delete('tfx-bundles'));
      const seen = await open();
      assert.deepEqual(seen.at(-1)[0], seen.at(-1)[1]);
      assert.ok(seen.every(([loaded], i) => i === 0 || loaded >= seen[i - 1][0]));
      const before = server.requests.length;
      await open();
      const again = server.requests.slice(before);
      assert.ok(again.some((p) => p.endsWith('bundle.pb')));
      assert.ok(!again.some((p) => p.endsWith('.safetensors')), String(again));
    });

    test('keeps checkpoints', async () => {
      const found = await page.evaluate(async () => {
        const bundle = await loader.Bundle.open('/conformance/training/bundle');
        const before = bundle.variables.get('kernel').toArray();
        await bundle.saveCheckpoint('start');
        await bundle.call('train_step', { x: [[1, 2, 3]], y: [1] });
        const trained = bundle.variables.get('kernel').toArray();
        const missing = await bundle.restore('start');
        const names = await bundle.checkpoints();
        await bundle.deleteCheckpoint('start');
        const error = await bundle.restore('start').catch((e) => e.name);
        const restored = bundle.variables.get('kernel').toArray();
        return { before, trained, restored, missing, names, error };
      });
      assert.deepEqual(found.restored, found.before);
      assert.notDeepEqual(found.trained, found.before);
      assert.deepEqual([found.missing, found.names, found.error], [[], ['start'], 'NotFoundError']);
    });

    test('what a server does wrong is said', async () => {
      const failure = (url) =>
        page.evaluate(
          (url) =>
            loader.Bundle.open(url, { cache: false }).then(
              () => 'no error',
              (e) => `${e.name}: ${e.message}`,
            ),
          url,
        );
      assert.match(await failure('/conformance/nowhere'), /^NotFoundError: .*nowhere.*404/);
      faults['model.safetensors'] = 500;
      assert.match(await failure('/conformance/narrow/bundle'), /^BundleError: .*safetensors.*500/);
      faults['model.safetensors'] = 'truncated';
      assert.match(await failure('/conformance/narrow/bundle'), /^BundleError: .*safetensors/);
      delete faults['model.safetensors'];
      assert.equal(await failure('/conformance/narrow/bundle'), 'no error');
    });

    test('a bundle can be downloaded as a ZIP file', async () => {
      const bytes = await page.evaluate(async () => {
        const bundle = await loader.Bundle.open('/conformance/training/bundle');
        const blob = await bundle.zip('trained');
        return [...new Uint8Array(await blob.arrayBuffer())];
      });
      assert.deepEqual(bytes.slice(0, 2), [0x50, 0x4b]);
      assert.ok(Buffer.from(bytes).includes('trained/bundle.pb'));
    });
  });
}
