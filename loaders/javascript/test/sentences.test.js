/** The page of sentences, as a person uses it. TFX_DEMO says where tools/make_demo_web.py put it. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { findChromium, launch } from './chromium.js';
import { press, waitForStatus } from './page.js';
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
  await waitForStatus(page, 'Ready');
});

after(async () => {
  await browser?.close();
  await server?.close();
});

const button = (name) => page.getByRole('button', { name, exact: true });
const text = (selector) => page.locator(selector).textContent();

/** The likeness within a subject, and between subjects. */
async function apart() {
  const numbers = (await text('#apart')).match(/-?\d+\.\d+/g).map(Number);
  assert.equal(numbers.length, 2);
  return numbers;
}

/** Ask about a sentence; its answer, by all that is on the page, is there then. */
async function ask(sentence) {
  await page.locator('#sentence').fill(sentence);
  await page.waitForFunction(
    (sentence) => document.querySelector('#points .asked title')?.textContent === sentence,
    sentence,
  );
}

/** How much likelier than the next a subject is for the sentence that was asked. */
async function ahead(subject) {
  const rows = await page.$$eval('#likeness li', (all) =>
    all.map((row) => [...row.querySelectorAll('span')].map((part) => part.textContent)),
  );
  const of = (isWanted) => rows.filter(([name]) => isWanted(name)).map(([, score]) => +score);
  return of((name) => name === subject)[0] - Math.max(...of((name) => name !== subject));
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
  await press(page, 'Train', 'Trained');
  const [within, after] = await apart();
  assert.ok(after < between - 0.1, `between subjects ${between}, then ${after}`);
  assert.ok(within > after + 0.3, `${within} within, ${after} between`);
  const loss = parseFloat((await text('#loss')).replace('loss ', ''));
  assert.ok(loss < 1, String(loss));
});

test('a subject of nonsense is learned too: training sets it apart', { skip }, async () => {
  const groups = page.locator('#groups textarea');
  const kept = await groups.nth(2).inputValue();
  await press(page, 'Back to the start', 'at the beginning');
  await groups.nth(2).fill('zzq vvx.\nzzq kkw jj.\nvvx kkw.\njj zzq.');
  await page.locator('#groups input').nth(2).fill('nonsense');
  await ask('kkw zzq vvx.');
  // Its words alone may make it the likeliest of the three; how far ahead it is comes of training.
  const before = await ahead('nonsense');
  await press(page, 'Train', 'Trained');
  assert.equal(await text('#likeness li.best span:first-child'), 'nonsense');
  const after = await ahead('nonsense');
  assert.ok(after > before + 0.2 && after > 0.5, `ahead by ${before}, then by ${after}`);
  await groups.nth(2).fill(kept);
  await page.locator('#groups input').nth(2).fill('count and compute');
  await press(page, 'Back to the start', 'at the beginning');
});

test('what is asked while it trains is done afterwards', { skip }, async () => {
  const start = await apart();
  const isOnce = await page.evaluate(() => {
    document.getElementById('status').textContent = '';
    for (const id of ['train', 'undo']) document.getElementById(id).click();
    return document.getElementById('train').disabled;
  });
  assert.ok(isOnce);
  await waitForStatus(page, 'at the beginning');
  assert.equal(await text('#loss'), '');
  assert.deepEqual(await apart(), start);
  assert.ok(await button('Train').isEnabled());
});

test('the adapter is switched off and on', { skip }, async () => {
  const start = await apart();
  await page.locator('#sentence').fill('Delete a folder.');
  await press(page, 'Train', 'Trained');
  const trained = await apart();
  await press(page, 'Without the adapter', 'Without the adapter');
  assert.deepEqual(await apart(), start);
  const target = process.env.TFX_SCREENSHOT_SENTENCES_BEFORE;
  if (target) fs.writeFileSync(target, await page.screenshot({ fullPage: true }));
  await press(page, 'Without the adapter', 'With the adapter');
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
  await press(page, 'Train', 'two sentences each');
});

test('it fits a phone', { skip }, async () => {
  const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
  const context = await browser.newContext(phone);
  try {
    const small = await context.newPage();
    await small.goto(`${server.url}/demo/sentences.html`);
    await waitForStatus(small, 'Ready');
    const widths = await small.evaluate(() => [document.body.scrollWidth, innerWidth]);
    assert.ok(widths[0] <= widths[1], String(widths));
    const sizes = await small.$$eval('button, input', (all) => all.map((b) => b.offsetHeight));
    assert.ok(Math.min(...sizes) >= 44, String(sizes));
  } finally {
    await context.close();
  }
  assert.deepEqual(errors, []);
});
