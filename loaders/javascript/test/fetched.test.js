/** What the browser's entry does with archives and runtimes, as far as Node has what it needs of browsers. */

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import * as tfx from '../dist/web.js';
import { zipParts } from '../dist/zip.js';
import { bundleOf, corpus } from './scratch.js';

const PLACE = 'https://example.test/bundle.tfx';
const data = fs.readFileSync(path.join(corpus, 'archive', 'bundle.tfx'));
const { fetch, location } = globalThis;
let answer;

beforeEach(() => {
  answer = () => new Response(data);
  globalThis.location = { href: PLACE, origin: new URL(PLACE).origin };
  globalThis.fetch = (url) => Promise.resolve(answer(url));
});

afterEach(() => Object.assign(globalThis, { fetch, location }));

/** A runtime that computes nothing, and takes the buffers of models away as one in a worker does. */
function makeRuntime() {
  const models = [];
  const create = (model) => {
    models.push(Buffer.from(model));
    structuredClone(model.buffer, { transfer: [model.buffer] });
    return Promise.resolve({ release: () => Promise.resolve() });
  };
  const ort = { env: { wasm: { proxy: true } }, InferenceSession: { create }, Tensor: Object };
  return { ort, models };
}

/** The bytes of the archive in a buffer of their own. */
const copied = () => new Uint8Array(data);

test('a runtime that takes buffers away takes no files away', async () => {
  const folder = bundleOf('training');
  answer = (url) => {
    const { pathname } = new URL(url);
    if (pathname.endsWith('.tfx')) return new Response(data);
    return new Response(fs.readFileSync(path.join(folder, pathname.slice('/training/'.length))));
  };
  const places = [PLACE, copied().buffer, 'https://example.test/training/'];
  for (const place of places) {
    const { ort, models } = makeRuntime();
    const bundle = await tfx.Bundle.open(place, { ort, verify: true });
    const before = await bundle.files();
    await bundle.warmup();
    await bundle.verify();
    assert.ok(models.length > 2 && models.every(({ length }) => length), String(models.length));
    const after = await bundle.files();
    for (const [name, content] of before) assert.deepEqual(after.get(name), content, name);
    await bundle.close();
  }
});

test('what is no archive is not downloaded as a whole', async () => {
  let [count, isCanceled] = [0, false];
  const endless = (first) => {
    const pull = (control) => control.enqueue(count++ ? new Uint8Array(1000) : first);
    const cancel = () => void (isCanceled = true);
    return new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
  };
  answer = () => new Response(endless(Buffer.from('<!do')));
  const { ort } = makeRuntime();
  const refused = (kind, text) =>
    assert.rejects(tfx.Bundle.open(PLACE, { ort }), (error) => {
      assert.ok(error instanceof kind, error.stack);
      assert.match(error.message, text);
      return true;
    });
  await refused(tfx.BundleError, /bundle\.tfx: it is no ZIP archive, expected .*tfx convert/);
  assert.ok(isCanceled && count < 4, String(count));
  // Nor is what there is no memory for.
  [count, isCanceled] = [0, false];
  const headers = { 'content-length': String(2 ** 52) };
  answer = () => new Response(endless(data), { headers });
  await refused(tfx.ResourceExhaustedError, /no memory for 4503599627370496 bytes/);
  assert.ok(isCanceled && count < 2, String(count));
  for (const part of [data.subarray(0, 2), data.subarray(0, 0)]) {
    answer = () => new Response(part);
    await refused(tfx.BundleError, new RegExp(`its ${part.length} bytes are no ZIP archive`));
  }
});

test('weights whose SHA-256 is another one are refused when it is computed', async () => {
  const { ort } = makeRuntime();
  const folder = bundleOf('large');
  const found = fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => fs.statSync(path.join(folder, name)).isFile())
    .map((name) => [name, new Uint8Array(fs.readFileSync(path.join(folder, name)))]);
  const weights = new Map(found).get('variables/model.safetensors');
  weights[weights.length - 1] ^= 1;
  await assert.rejects(
    tfx.Bundle.open(Buffer.concat(zipParts(found)), { ort }),
    /^BundleError: archive in memory\/variables\/model\.safetensors: its SHA-256/,
  );
});

test('bytes that were handed to another thread are said to be', async () => {
  const { ort } = makeRuntime();
  const hand = ({ buffer }) => structuredClone(buffer, { transfer: [buffer] });
  const bytes = copied();
  const bundle = await tfx.Bundle.open(bytes, { ort });
  hand(bytes);
  await assert.rejects(bundle.warmup('look'), (error) => {
    assert.ok(error instanceof tfx.FailedPreconditionError, error.stack);
    assert.match(error.message, /handed to another thread; hand a copy/);
    return true;
  });
  const view = new DataView(copied().buffer);
  const { buffer } = view;
  hand(view);
  for (const place of [bytes, view, buffer]) {
    await assert.rejects(tfx.Bundle.open(place, { ort }), tfx.InvalidArgumentError);
  }
});

test('a bundle that is closed keeps no bytes', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  const { ort } = makeRuntime();
  const open = async () => {
    const bytes = copied();
    return [await tfx.Bundle.open(bytes, { ort }), new WeakRef(bytes.buffer)];
  };
  const [bundle, bytes] = await open();
  const isThere = async () => {
    await new Promise((resolve) => setTimeout(resolve));
    collect();
    return bytes.deref() !== undefined;
  };
  assert.ok(await isThere());
  await bundle.close();
  assert.ok(!(await isThere()));
  await assert.rejects(bundle.reload(), tfx.FailedPreconditionError);
});
