/** Bundles in a real browser, with and without cross-origin isolation. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import * as inNode from '../dist/node.js';
import { findChromium } from './chromium.js';
import { launchFor, openPage } from './page.js';
import { serve } from './server.js';

const corpus = process.env.TFX_CONFORMANCE;
if (!corpus)
  throw new Error('set TFX_CONFORMANCE to the folder that loaders/conformance/make.py made');
const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
const executablePath = findChromium();
const skip = executablePath ? false : 'no Chromium: install it, or set CHROMIUM to its path';

/** All pages but those with WebGPU; each has a context of its own. */
let browser;
before(async () => {
  if (!skip) browser = await launchFor(executablePath);
});
after(() => browser?.close());

for (const isolated of [false, true]) {
  describe(`a page that is ${isolated ? '' : 'not '}cross-origin isolated`, { skip }, () => {
    let close, page, server, scratch;
    const faults = {};

    before(async () => {
      scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tfx-browser-'));
      // What a site would serve: the example, and the loader beside it.
      fs.cpSync(path.join(root, 'examples', 'web'), path.join(scratch, 'app'), { recursive: true });
      fs.copyFileSync(
        path.join(root, 'dist', 'tfx-web.js'),
        path.join(scratch, 'app', 'tfx-web.js'),
      );
      const options = { browser, corpus, scratch, isolated, faults };
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
              () => loader.Bundle.open(`/conformance/${name}/${record.bundle ?? 'bundle'}`),
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
      assert.ok(!again.some((p) => /\.(safetensors|onnx)$/.test(p)), String(again));
    });

    test('takes archives: of an address with one request, of a file, of bytes', async () => {
      const before = server.requests.length;
      const found = await page.evaluate(async () => {
        const url = '/conformance/archive/bundle.tfx';
        const seen = [];
        const first = await loader.Bundle.open(url, { onProgress: (p) => seen.push(p) });
        const look = async (bundle) => {
          const { number, text } = await bundle.call('look', { i: [0, 2999] });
          return String([bundle.path.split('/').at(-1), ...number.toArray(), ...text.toArray()]);
        };
        const looks = [await look(first)];
        await first.call('count');
        const zip = await first.zip();
        await first.saveCheckpoint('start');
        await first.reload(zip);
        const { steps } = await first.call('count');
        const blob = await (await fetch(url)).blob();
        for (const place of [zip, blob, new File([blob], 'mine.zip'), await blob.arrayBuffer()]) {
          const bundle = await loader.Bundle.open(place);
          await bundle.verify();
          looks.push(await look(bundle));
          await bundle.reload();
          await bundle.close();
        }
        await first.reload(url);
        await first.close();
        const wrong = [new Blob(['text']), blob.slice(0, -30)].map((place) =>
          loader.Bundle.open(place).catch((e) => `${e.name}: ${e.message}`),
        );
        return { looks, seen, steps: Number(steps.item()), wrong: await Promise.all(wrong) };
      });
      const names = ['bundle.tfx', 'archive in memory', 'archive in memory', 'mine.zip'];
      names.push('archive in memory');
      assert.deepEqual(
        found.looks,
        names.map((name) => `${name},0,2999,a,世界`),
      );
      assert.equal(found.steps, 2);
      assert.match(found.wrong[0], /^BundleError: .*its 4 bytes are no ZIP archive/);
      assert.match(found.wrong[1], /^BundleError: .*no end record/);
      const { file, loaded, total } = found.seen.at(-1);
      assert.deepEqual([file, loaded], ['bundle.tfx', total]);
      // Opened, fetched, and reloaded: once each.
      const asked = server.requests.slice(before).filter((p) => p.startsWith('/conformance/'));
      assert.deepEqual(asked, Array(3).fill('/conformance/archive/bundle.tfx'));
    });

    test('what a server does wrong with an archive is said', async () => {
      const failure = (options) =>
        page.evaluate((options) => {
          const control = new AbortController();
          if (options.aborts) {
            options.signal = control.signal;
            options.onProgress = () => control.abort(new Error('enough'));
          }
          return loader.Bundle.open('/conformance/archive/bundle.tfx', options).then(
            () => 'no error',
            (e) => `${e.name}: ${e.message}`,
          );
        }, options);
      const expected = {
        page: /^NotFoundError: .*bundle\.tfx.* with a page; expected an archive/,
        404: /^NotFoundError: .*404.*expected an archive/,
        403: /^PermissionDeniedError: .*403/,
        500: /^BundleError: .*500.*try again later/,
        truncated: /^BundleError: .*bundle\.tfx: the download broke off/,
      };
      for (const [fault, text] of Object.entries(expected)) {
        faults['bundle.tfx'] = Number(fault) || fault;
        assert.match(await failure({ cache: false }), text);
      }
      faults['bundle.tfx'] = 'slow';
      assert.equal(await failure({ aborts: true, cache: false }), 'Error: enough');
      delete faults['bundle.tfx'];
      assert.equal(await failure({}), 'no error');
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

    test('keeps checkpoints of bytes by what is in them', async () => {
      const found = await page.evaluate(async () => {
        const blob = await (await fetch('/conformance/archive/bundle.tfx')).blob();
        const first = await loader.Bundle.open(blob);
        await first.call('count');
        await first.saveCheckpoint('one');
        const names = [];
        for (const place of [
          new File([blob], 'renamed.zip'),
          await first.zip(), // it has counted
          '/conformance/archive/bundle.tfx',
        ]) {
          const bundle = await loader.Bundle.open(place);
          names.push((await bundle.checkpoints()).includes('one'));
          await bundle.close();
        }
        await first.deleteCheckpoint('one');
        return [...names, ...(await first.checkpoints())];
      });
      assert.deepEqual(found, [true, false, false]);
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
        401: /^PermissionDeniedError: .*401.*sign in/,
        403: /^PermissionDeniedError: .*403.*open to everybody/,
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
        // Files are fetched side by side: given up at a graph's first bytes, the store's request
        // might never have left. The golden examples are a store, too.
        options.onProgress = ({ file }) => {
          if (file.endsWith('/model.safetensors')) control.abort(new Error('enough'));
        };
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
      for (let i = 0; i < 1000 && server.cancelled.length === before; i++) {
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

    test('takes the variables of another version', async () => {
      const found = await page.evaluate(async () => {
        const step = { x: [[1, 2, 3]], y: [1] };
        const bundle = await loader.Bundle.open('/conformance/training/bundle');
        const predict = async () => (await bundle.call('predict', { x: step.x })).y.item();
        const before = await predict();
        await bundle.call('train_step', step);
        const trained = await predict();
        for (const [file, data] of await bundle.files()) {
          await fetch(`/saved/later/${file}`, { method: 'PUT', body: data });
        }
        const refused = await bundle.reload('/conformance/shapes/bundle').catch((e) => e.name);
        await bundle.reload('/conformance/training/bundle');
        const back = [await predict(), Number((await bundle.call('count')).steps.item())];
        await bundle.reload('/saved/later');
        const later = [await predict(), Number((await bundle.call('count')).steps.item())];
        await bundle.close();
        return { before, trained, refused, back, later };
      });
      assert.equal(found.refused, 'FailedPreconditionError');
      assert.ok(Math.abs(found.back[0] - found.before) < 1e-6);
      assert.ok(Math.abs(found.later[0] - found.trained) < 1e-6);
      assert.deepEqual([found.back[1], found.later[1]], [0, 1]);
    });

    test('runs in a worker of the page, which stays free', async () => {
      const found = await page.evaluate(async () => {
        const { Client } = await import('/saved/app/client.js');
        const client = new Client('/conformance/training/bundle', { ort: '/ort/ort.min.mjs' });
        const step = { x: [[1, 2, 3]], y: new Float32Array([1]) };
        const losses = await Promise.all([1, 2, 3].map(() => client.call('train_step', step)));
        const { steps } = await client.call('count');
        const error = await client.call('train_stop', step).catch((e) => `${e.name}: ${e.message}`);
        client.stop();
        const ended = await client.call('count').catch((e) => e.message);
        return { losses: losses.map(({ loss }) => loss.data[0]), steps: steps.data, error, ended };
      });
      assert.equal(found.losses.length, 3);
      assert.ok(found.losses.every(Number.isFinite));
      assert.equal(String(Object.values(found.steps)), '3');
      assert.match(found.error, /^NotFoundError: .*did you mean "train_step"/);
      assert.match(found.ended, /stopped/);
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

    test('an array that changes while a call is under way changes no result', async () => {
      const found = await page.evaluate(async () => {
        const bundle = await loader.Bundle.open('/conformance/shapes/bundle');
        const [x, y] = [new Float32Array(6), new Float32Array(2)];
        const sums = [];
        for (let ticks = 0; ticks < 12; ticks++) {
          x.set([1, 2, 3, 4, 5, 6]);
          y.fill(1);
          const results = bundle.call('weigh', { x: { data: x, shape: [2, 3] }, y });
          for (let i = 0; i < ticks; i++) await undefined;
          x.fill(-1);
          y.fill(-1);
          sums.push((await results).sum.toArray());
        }
        await bundle.close();
        return sums;
      });
      assert.deepEqual(found, Array(12).fill([5, 7, 9]));
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
      const file = path.join(scratch, 'trained.zip');
      fs.writeFileSync(file, Buffer.from(bytes));
      const bundle = await inNode.Bundle.open(file, { verify: true });
      assert.ok(bundle.signatures.train_step);
      await bundle.close();
      if (!process.env.TFX_PYTHON) return;
      const program =
        'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); print(z.testzip(), len(z.namelist()))';
      const printed = String(execFileSync(process.env.TFX_PYTHON, ['-c', program, file]));
      const folder = path.join(corpus, 'training', 'bundle');
      const count = fs.readdirSync(folder, { recursive: true, withFileTypes: true });
      assert.equal(printed.trim(), `None ${count.filter((item) => item.isFile()).length}`);
    });
  });
}

test('a plain page takes module, runtime and bundle from another origin', { skip }, async () => {
  const dist = path.join(root, 'node_modules', 'onnxruntime-web', 'dist');
  const mounts = { files: path.join(root, 'dist'), ort: dist, bundles: corpus };
  const files = await serve(mounts, { origins: '*' });
  const closed = await serve(mounts);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tfx-plain-'));
  const program = (from) => `<!doctype html>
<script type="importmap">{"imports": {"onnxruntime-web": "${files.url}/ort/ort.wasm.min.mjs"}}</script>
<script type="module">
  import { Bundle } from '${files.url}/files/tfx-web.js';
  try {
    const bundle = await Bundle.open('${from}/bundles/training/bundle/');
    const losses = [];
    for (let i = 0; i < 3; i++) {
      losses.push((await bundle.call('train_step', { x: [[1, 2, 3]], y: [1] })).loss.item());
    }
    document.title = losses.every(Number.isFinite) ? 'trained' : 'wrong';
  } catch (error) {
    document.title = error.name + ': ' + error.message;
  }
</script>`;
  fs.writeFileSync(path.join(folder, 'index.html'), program(files.url));
  fs.writeFileSync(path.join(folder, 'closed.html'), program(closed.url));
  const pages = await serve({ pages: folder });
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    for (const [name, text] of [
      ['index.html', /^trained$/],
      ['closed.html', /^BundleError: .*cannot be downloaded.*Access-Control-Allow-Origin/],
    ]) {
      await page.goto(`${pages.url}/pages/${name}`);
      await page.waitForFunction(() => document.title);
      assert.match(await page.title(), text);
    }
  } finally {
    await context.close();
    for (const server of [files, closed, pages]) await server.close();
    fs.rmSync(folder, { recursive: true, force: true });
  }
});

test('a page that is not secure has its own hashes, and keeps nothing', { skip }, async () => {
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tfx-insecure-'));
  const { page, close } = await openPage({ browser, corpus, scratch, secure: false });
  try {
    const found = await page.evaluate(async () => {
      const use = async (name) => {
        const bundle = await loader.Bundle.open(`/conformance/${name}/bundle`);
        const { y } = await bundle.call('look', { i: [0, 5] });
        const answer = [y.toArray(), bundle.variables.get('b').data.length];
        await bundle.close();
        return answer;
      };
      const bundle = await loader.Bundle.open('/conformance/training/bundle');
      const losses = [];
      for (let i = 0; i < 3; i++) {
        losses.push((await bundle.call('train_step', { x: [[1, 2, 3]], y: [1] })).loss.item());
      }
      return {
        isSecure: isSecureContext,
        losses,
        large: await use('large'),
        archive: await loader.Bundle.open('/conformance/archive/bundle.tfx').then((bundle) =>
          bundle.verify().then(() => bundle.variables.get('table').data[2999]),
        ),
        flipped: await use('hostile_large_first_piece').catch((e) => `${e.name}: ${e.message}`),
      };
    });
    assert.equal(found.isSecure, false);
    assert.ok(found.losses.every(Number.isFinite));
    assert.deepEqual(found.large, [[0, 5], 17 << 18]);
    assert.equal(found.archive, 2999);
    assert.match(found.flipped, /^BundleError: .*model\.safetensors: .*CRC-32/);
  } finally {
    await close();
    fs.rmSync(scratch, { recursive: true, force: true });
  }
});

describe('a page with a WebGPU adapter', { skip }, () => {
  let scratch, withGpu;
  before(async () => {
    scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tfx-webgpu-'));
    withGpu = await launchFor(executablePath, { gpu: true });
  });
  after(async () => {
    await withGpu?.close();
    fs.rmSync(scratch, { recursive: true, force: true });
  });

  /** Open a page, or skip the test where the browser brings no adapter. */
  async function withPage(t, build, work) {
    const { page, close } = await openPage({ browser: withGpu, corpus, scratch, gpu: true, build });
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

  test('a second build of the runtime serves what the first has no kernels for', (t) =>
    withPage(t, 'ort.webgpu', async (page) => {
      const found = await page.evaluate(async () => {
        const step = { x: [[1, 2, 3]], y: [1] };
        const train = async (options) => {
          const bundle = await loader.Bundle.open('/conformance/training/bundle', options);
          const losses = [];
          for (let i = 0; i < 3; i++)
            losses.push((await bundle.call('train_step', step)).loss.item());
          return [bundle.device, losses];
        };
        const device = 'webgpu';
        const fallback = () => import('/ort/ort.wasm.min.mjs');
        const error = await train({ device }).catch((e) => `${e.name}: ${e.message}`);
        return [
          error,
          await train({ device, fallback }),
          await train({ device: 'wasm', ort: await fallback() }),
        ];
      });
      // Should the runtime learn it one day, `fallback` is not asked for.
      if (typeof found[0] === 'string') assert.match(found[0], /^UnimplementedError: .*Cast/);
      assert.equal(found[1][0], 'webgpu');
      found[1][1].forEach((loss, i) => assert.ok(Math.abs(loss - found[2][1][i]) < 1e-5));
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
