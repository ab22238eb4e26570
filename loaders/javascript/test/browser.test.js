/** Bundles in a real browser, with and without cross-origin isolation. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
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

    test('what is no bundle, and what is not there now, are told apart', async () => {
      const failure = () =>
        page.evaluate(() =>
          loader.Bundle.open('/conformance/narrow/bundle', { cache: false }).then(
            () => 'no error',
            (e) => `${e.name}: ${e.message}`,
          ),
        );
      const expected = {
        page: /^NotFoundError: .*200 .*with a page; expected a bundle's manifest/,
        500: /^BundleError: .*500.*try again later/,
        403: /^BundleError: .*403.*not open to everybody/,
        404: /^NotFoundError: .*404/,
      };
      for (const [fault, text] of Object.entries(expected)) {
        faults['bundle.pb'] = Number(fault) || fault;
        assert.match(await failure(), text);
      }
      delete faults['bundle.pb'];
    });

    test('a download can be given up, and the server hears of it', async () => {
      faults['model.safetensors'] = 'slow';
      const before = server.cancelled.length;
      const found = await page.evaluate(async () => {
        const control = new AbortController();
        const start = performance.now();
        const options = { cache: false, signal: control.signal };
        options.onProgress = () => control.abort(new Error('enough'));
        const error = await loader.Bundle.open('/conformance/narrow/bundle', options).catch(
          (e) => e,
        );
        const again = await loader.Bundle.open('/conformance/narrow/bundle', options).catch(
          (e) => e,
        );
        return [error.message, again.message, performance.now() - start];
      });
      delete faults['model.safetensors'];
      assert.deepEqual(found.slice(0, 2), ['enough', 'enough']);
      assert.ok(found[2] < 5000);
      for (let i = 0; i < 100 && server.cancelled.length === before; i++) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      assert.equal(server.cancelled.length, before + 1);
      // A signal that is aborted later does not end what is open.
      await page.evaluate(async () => {
        const control = new AbortController();
        const options = { cache: false, signal: control.signal };
        const bundle = await loader.Bundle.open('/conformance/narrow/bundle', options);
        control.abort();
        await bundle.call('scale', { x: [1, 2, 3] });
      });
    });

    test('calls at once are done in the order in which they were made', async () => {
      const found = await page.evaluate(async () => {
        const input = { x: [[1, 2, 3]], y: [1] };
        const losses = async (work) => {
          const bundle = await loader.Bundle.open('/conformance/training/bundle');
          const results = await work(bundle);
          const count = (await bundle.call('count')).steps.item();
          await bundle.close();
          return [results.map(({ loss }) => loss.item()), Number(count)];
        };
        const together = await losses((bundle) => {
          const calls = Array.from({ length: 8 }, () => bundle.call('train_step', input));
          void bundle.call('predict', { x: [[1, 2, 3]] });
          return Promise.all(calls);
        });
        const single = await losses(async (bundle) => {
          const results = [];
          for (let i = 0; i < 8; i++) results.push(await bundle.call('train_step', input));
          return results;
        });
        return { together, single };
      });
      assert.deepEqual(found.together, found.single);
      assert.equal(found.together[1], 8);
    });

    test('opening and closing again and again does not gather memory', async () => {
      const grown = await page.evaluate(async () => {
        const use = async () => {
          const bundle = await loader.Bundle.open('/conformance/training/bundle');
          await bundle.call('train_step', { x: [[1, 2, 3]], y: [1] });
          await bundle.close();
          return bundle.call('count').catch((e) => e.name);
        };
        for (let i = 0; i < 5; i++) await use();
        const before = performance.memory.usedJSHeapSize;
        let name;
        for (let i = 0; i < 30; i++) name = await use();
        return [performance.memory.usedJSHeapSize - before, name];
      });
      assert.equal(grown[1], 'FailedPreconditionError');
      assert.ok(grown[0] < 20e6, String(grown));
    });

    test('WebGPU where there is none is refused, or left aside if asked so', async () => {
      const found = await page.evaluate(async () => {
        const open = (device) => loader.Bundle.open('/conformance/narrow/bundle', { device });
        const error = await open('webgpu').catch((e) => `${e.name}: ${e.message}`);
        const wrong = await open('cuda').catch((e) => `${e.name}: ${e.message}`);
        const bundle = await open('auto');
        const { y } = await bundle.call('scale', { x: [1, 2, 3] });
        return [error, wrong, bundle.device, y.toArray()];
      });
      assert.match(found[0], /^UnimplementedError: .*no adapter.*"auto" or "wasm"/);
      assert.match(found[1], /^InvalidArgumentError: device is "cuda", expected "wasm"/);
      assert.deepEqual(found.slice(2), ['wasm', [0.5, -4, 9]]);
    });

    test('a bundle can be downloaded as a ZIP file', async () => {
      const bytes = await page.evaluate(async () => {
        const bundle = await loader.Bundle.open('/conformance/training/bundle');
        const blob = await bundle.zip('trained');
        return [...new Uint8Array(await blob.arrayBuffer())];
      });
      assert.deepEqual(bytes.slice(0, 2), [0x50, 0x4b]);
      assert.ok(Buffer.from(bytes).includes('trained/bundle.pb'));
      if (!process.env.TFX_PYTHON) return;
      const file = path.join(scratch, 'trained.zip');
      fs.writeFileSync(file, Buffer.from(bytes));
      const program =
        'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); print(z.testzip(), len(z.namelist()))';
      const printed = String(execFileSync(process.env.TFX_PYTHON, ['-c', program, file]));
      const folder = path.join(corpus, 'training', 'bundle');
      const count = fs.readdirSync(folder, { recursive: true, withFileTypes: true });
      assert.equal(printed.trim(), `None ${count.filter((item) => item.isFile()).length}`);
    });
  });
}

describe('a page with a WebGPU adapter', { skip }, () => {
  let scratch;
  before(() => {
    scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tfx-webgpu-'));
  });
  after(() => fs.rmSync(scratch, { recursive: true, force: true }));

  /** Open a page, or skip the test where the browser brings no adapter. */
  async function withPage(t, build, work) {
    const { page, close } = await openPage({ executablePath, corpus, scratch, gpu: true, build });
    try {
      const has = await page.evaluate(async () => Boolean(await navigator.gpu?.requestAdapter()));
      if (has) await work(page);
      else t.skip('this Chromium brings no WebGPU adapter for machines without a GPU');
    } finally {
      await close();
    }
  }

  test('computes on it', (t) =>
    withPage(t, 'ort.webgpu', async (page) => {
      const found = await page.evaluate(async () => {
        const bundle = await loader.Bundle.open('/conformance/thawed/bundle', { device: 'auto' });
        const before = (await bundle.call('predict', { x: [[1, 0, -1]] })).y.item();
        await bundle.variables.assign({ b: 1.5 });
        return [
          bundle.device,
          before,
          (await bundle.call('predict', { x: [[1, 0, -1]] })).y.item(),
        ];
      });
      assert.deepEqual(found, ['webgpu', -319999.5, -319998.5]);
    }));

  test('refuses builds of the runtime that would give wrong numbers, or have none', async (t) => {
    for (const [build, text] of [
      ['ort', /old one, which gives wrong numbers.*onnxruntime-web\/webgpu/],
      ['ort.wasm', /backend not found.*onnxruntime-web\/webgpu/],
    ]) {
      await withPage(t, build, async (page) => {
        const found = await page.evaluate(async () => {
          const call = async (device) => {
            const bundle = await loader.Bundle.open('/conformance/scan/bundle', { device });
            const inputs = {
              start: [0, 10],
              one: [1, 1],
              x: [
                [1, 2],
                [3, 4],
                [5, 6],
              ],
            };
            const { product } = await bundle.call('serving_default', inputs);
            return [bundle.device, product.toArray()];
          };
          return [await call('webgpu').catch((e) => `${e.name}: ${e.message}`), await call('auto')];
        });
        assert.match(found[0], /^UnimplementedError/);
        assert.match(found[0], text);
        assert.deepEqual(found[1], ['wasm', [15, 48]]);
      });
    }
  });
});
