/** The page of sentences, as a person uses it. TFX_DEMO says where tools/make_demo_web.py put it. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { findChromium, launch } from './chromium.js';
import { withPalette } from './png.js';
import { serve } from './server.js';

const folder = process.env.TFX_DEMO;
const executablePath = findChromium();
const skip = !folder ? 'set TFX_DEMO' : executablePath ? false : 'no Chromium';

let browser, page, server;
const errors = [];

before(async () => {
  if (skip) return;
  server = await serve({ demo: folder });
  browser = await launch(executablePath);
  page = await browser.newPage({ viewport: { width: 1120, height: 1000 }, acceptDownloads: true });
  page.on('pageerror', (error) => errors.push(error));
  await page.goto(`${server.url}/demo/sentences.html`);
  await ready(page);
});

after(async () => {
  await browser?.close();
  await server?.close();
});

const ready = (page) =>
  page.waitForFunction(() => document.querySelector('#status').textContent.startsWith('Ready'), {
    timeout: 120_000,
  });
const button = (name) => page.getByRole('button', { name, exact: true });
const text = (selector) => page.locator(selector).textContent();

/** The likeness within a subject, and between subjects. */
async function apart() {
  const numbers = (await text('#apart')).match(/-?\d+\.\d+/g).map(Number);
  assert.equal(numbers.length, 2);
  return numbers;
}

async function status(start) {
  await page.waitForFunction(
    (start) => document.querySelector('#status').textContent.includes(start),
    start,
    { timeout: 240_000 },
  );
}

test('the sentences are on the map, and the asked one has an answer', { skip }, async () => {
  const lines = await page.$$eval('textarea', (all) =>
    all.map((area) => area.value.split('\n').filter(Boolean).length),
  );
  const points = await page.locator('#points circle').count();
  assert.equal(points, lines.reduce((a, b) => a + b) + 1);
  assert.equal(await page.locator('#likeness li').count(), lines.length);
  assert.equal(await page.locator('#likeness li.best').count(), 1);
});

test('what is typed is drawn', { skip }, async () => {
  const before = await text('#likeness');
  await page.locator('#sentence').fill('Compute the sum of two numbers.');
  await page.waitForFunction(
    (before) => document.querySelector('#likeness').textContent !== before,
    before,
  );
  await page.locator('#sentence').fill('Delete a folder.');
});

test('the adapter learns in the tab: subjects come apart', { skip }, async () => {
  const [, between] = await apart();
  await button('Train').click();
  await status('Trained');
  const [within, after] = await apart();
  assert.ok(after < between - 0.1, `between subjects ${between}, then ${after}`);
  assert.ok(within > after + 0.3, `${within} within, ${after} between`);
  const loss = parseFloat((await text('#loss')).replace('loss ', ''));
  assert.ok(loss < 1, String(loss));
});

test(
  'a subject of nonsense is learned too: nothing but training could know it',
  { skip },
  async () => {
    const groups = page.locator('#groups textarea');
    const kept = await groups.nth(2).inputValue();
    await groups.nth(2).fill('zzq vvx.\nzzq kkw jj.\nvvx kkw.\njj zzq.');
    await page.locator('#groups input').nth(2).fill('nonsense');
    await button('Train').click();
    await status('Trained');
    await page.locator('#sentence').fill('kkw zzq vvx.');
    await page.waitForFunction(
      () => document.querySelector('#likeness li.best span')?.textContent === 'nonsense',
    );
    await groups.nth(2).fill(kept);
    await page.locator('#groups input').nth(2).fill('count and compute');
    await button('Back to the start').click();
    await status('at the beginning');
  },
);

test('the adapter is switched off and on', { skip }, async () => {
  const start = await apart();
  await page.locator('#sentence').fill('Delete a folder.');
  await button('Train').click();
  await status('Trained');
  const trained = await apart();
  await button('Without the adapter').click();
  await status('Without the adapter');
  assert.deepEqual(await apart(), start);
  const target = process.env.TFX_SCREENSHOT_SENTENCES_BEFORE;
  if (target) fs.writeFileSync(target, await page.screenshot({ fullPage: true }));
  await button('Without the adapter').click();
  await status('With the adapter');
  assert.deepEqual(await apart(), trained);
});

test('a screenshot', { skip }, async () => {
  await page.waitForTimeout(400); // points move
  const target =
    process.env.TFX_SCREENSHOT_SENTENCES ?? path.join(os.tmpdir(), 'tfx-sentences.png');
  fs.writeFileSync(target, withPalette(await page.screenshot({ fullPage: true })));
  const { size } = fs.statSync(target);
  assert.ok(size > 15_000 && size < 200_000, `${size} bytes`);
});

test('the adapter alone can be taken home, and Python attaches it', { skip }, async () => {
  const waiting = page.waitForEvent('download');
  await button('Download').click();
  const download = await waiting;
  assert.equal(download.suggestedFilename(), 'adapter.safetensors');
  const target = path.join(os.tmpdir(), `adapter-${process.pid}.safetensors`);
  await download.saveAs(target);
  try {
    const { size } = fs.statSync(target);
    assert.ok(size < 1_500_000, `${size} bytes`);
    if (!process.env.TFX_PYTHON) return;
    const program = [
      'import sys, tfx as tf',
      'bundle = tf.saved_model.load(sys.argv[2])',
      'class Weights(tf.Module): pass',
      'model = Weights()',
      'model.embeddings, model.encoder = bundle.embeddings, bundle.encoder',
      'adapter = tf.adapt.load_lora(model, sys.argv[1])',
      'print(adapter.rank, len(adapter.targets), adapter.active)',
    ].join('\n');
    const bundle = path.join(folder, 'sentences_bundle');
    const printed = String(execFileSync(process.env.TFX_PYTHON, ['-c', program, target, bundle]));
    const counts = await page.evaluate(() => document.querySelector('#size').textContent);
    assert.match(printed, /^4 \d+ adapter-\d+\n$/, `${printed} ${counts}`);
  } finally {
    fs.rmSync(target, { force: true });
  }
});

test('it refuses what it cannot learn from, with a reason', { skip }, async () => {
  const groups = page.locator('#groups textarea');
  for (let i = 0; i < 3; i++) await groups.nth(i).fill(i ? '' : 'One sentence.');
  await button('Train').click();
  await status('two sentences each');
});

test('it fits a phone', { skip }, async () => {
  const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
  const context = await browser.newContext(phone);
  try {
    const small = await context.newPage();
    await small.goto(`${server.url}/demo/sentences.html`);
    await ready(small);
    const widths = await small.evaluate(() => [document.body.scrollWidth, innerWidth]);
    assert.ok(widths[0] <= widths[1], String(widths));
    const sizes = await small.$$eval('button, input', (all) => all.map((b) => b.offsetHeight));
    assert.ok(Math.min(...sizes) >= 44, String(sizes));
  } finally {
    await context.close();
  }
  assert.deepEqual(errors, []);
});
