/** The demo page, as a person uses it. TFX_DEMO says where tools/make_demo_web.py has put it. */

import assert from 'node:assert/strict';
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
  page = await browser.newPage({ viewport: { width: 1024, height: 900 }, acceptDownloads: true });
  page.on('pageerror', (error) => errors.push(error));
  await page.goto(`${server.url}/demo/index.html`);
  await waitForStatus(page, 'Ready');
});

after(async () => {
  await browser?.close();
  await server?.close();
});

/** Draw lines through points of the board, given in parts of its side. Each move is classified. */
async function draw(...points) {
  const box = await page.locator('#board').boundingBox();
  const at = ([x, y]) => [box.x + x * box.width, box.y + y * box.height];
  await page.mouse.move(...at(points[0]));
  await page.mouse.down();
  for (const point of points.slice(1)) await page.mouse.move(...at(point), { steps: 2 });
  await page.mouse.up();
}

const ONE = [
  [0.42, 0.3],
  [0.55, 0.18],
  [0.55, 0.85],
];
const SEVEN = [
  [0.25, 0.2],
  [0.75, 0.2],
  [0.45, 0.85],
];
const ZERO = Array.from({ length: 25 }, (_, i) => [
  0.5 + 0.22 * Math.sin((i * Math.PI) / 12),
  0.5 - 0.35 * Math.cos((i * Math.PI) / 12),
]);

const best = () => page.locator('#bars li.best span').first().textContent();
const name = (digit) => `It is a ${digit}`;

test('a drawn digit is recognised', { skip }, async () => {
  await draw(...ZERO);
  await page.waitForSelector('#bars li.best');
  assert.equal(await best(), '0');
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.waitForFunction(() => !document.querySelector('#bars li.best'));
});

test('it is taught, in the tab: the loss falls and the answer changes', { skip }, async () => {
  // A zero is called a four from now on: nothing but training could make it say so.
  for (let i = 0; i < 3; i++) {
    await draw(...ZERO);
    await page.getByRole('button', { name: name(4) }).click();
    await draw(...ONE);
    await page.getByRole('button', { name: name(1) }).click();
    await draw(...SEVEN);
    await page.getByRole('button', { name: name(7) }).click();
  }
  const losses = [];
  for (let i = 0; i < 3; i++) {
    await press(page, 'Train', 'Trained');
    const curve = await page.locator('#curve').textContent();
    assert.ok(curve.includes(`${60 * (i + 1)} steps`), curve);
    losses.push(parseFloat((await page.locator('#loss').textContent()).replace('loss ', '')));
  }
  assert.ok(losses.at(-1) < 0.5, String(losses));
  await draw(...ZERO);
  await page.waitForFunction(
    () => document.querySelector('#bars li.best span')?.textContent === '4',
  );
});

test('it fits a phone, and works with touch and keyboard alone', { skip }, async () => {
  const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
  const context = await browser.newContext(phone);
  try {
    const small = await context.newPage();
    await small.goto(`${server.url}/demo/index.html`);
    await small.waitForSelector('#sample:enabled');
    const widths = await small.evaluate(() => [document.body.scrollWidth, innerWidth]);
    assert.ok(widths[0] <= widths[1], String(widths));
    const sizes = await small.$$eval('button', (all) => all.map((b) => b.offsetHeight));
    assert.ok(Math.min(...sizes) >= 44, String(sizes));
    await small.tap('#board');
    await small.waitForSelector('#bars li.best');
    await small.keyboard.press('Escape');
    await small.waitForFunction(() => !document.querySelector('#bars li.best'));
    await small.focus('#sample');
    await small.keyboard.press('Enter');
    await small.waitForSelector('#bars li.best');
    await small.focus('#labels button:nth-child(3)');
    await small.keyboard.press('Space');
    await small.waitForFunction(() =>
      document.querySelector('#samples').textContent.endsWith(' 2'),
    );
    // One more example while it trains: it does not train twice at once.
    const isEnabled = await small.evaluate(() => {
      for (const name of ['#train', '#sample', '#labels button']) {
        document.querySelector(name).click();
      }
      return !document.querySelector('#train').disabled;
    });
    assert.equal(isEnabled, false);
    await waitForStatus(small, 'Trained');
    await small.waitForSelector('#train:enabled');
    assert.match(await small.locator('#samples').textContent(), / 2 0$/);
    if (process.env.TFX_SCREENSHOT_PHONE) {
      await small.screenshot({ path: process.env.TFX_SCREENSHOT_PHONE, fullPage: true });
    }
  } finally {
    await context.close();
  }
});

test('a screenshot', { skip }, async () => {
  // What everybody would call it: the picture is not about the four that was made of the zero.
  const show = async (points, digit) => {
    await page.getByRole('button', { name: 'Clear' }).click();
    await draw(...points);
    await page.waitForFunction(
      (digit) => document.querySelector('#bars li.best span')?.textContent === digit,
      digit,
    );
    await page.waitForTimeout(300); // the bars move
  };
  await show(SEVEN, '7');
  const target = process.env.TFX_SCREENSHOT ?? path.join(os.tmpdir(), 'tfx-demo.png');
  fs.writeFileSync(target, withPalette(await page.screenshot({ fullPage: true })));
  const { size } = fs.statSync(target);
  assert.ok(size > 15_000 && size < 120_000, `${size} bytes`);
  await show(ZERO, '4');
});

test('the retrained bundle can be taken home', { skip }, async () => {
  const waiting = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download' }).click();
  const download = await waiting;
  assert.equal(download.suggestedFilename(), 'trained_digits.zip');
  const target = process.env.TFX_DEMO_ZIP ?? path.join(os.tmpdir(), 'trained_digits.zip');
  await download.saveAs(target);
  assert.ok(fs.statSync(target).size > 10_000);
});

test('it can go back to the start', { skip }, async () => {
  await press(page, 'Back to the start', 'downloaded');
  assert.equal(await best(), '0');
});

test('what is asked while it trains is done afterwards', { skip }, async () => {
  const isOnce = await page.evaluate(() => {
    document.querySelector('#status').textContent = '';
    for (const id of ['train', 'undo']) document.getElementById(id).click();
    return document.getElementById('train').disabled;
  });
  assert.ok(isOnce);
  await waitForStatus(page, 'downloaded');
  assert.equal(await page.locator('#loss').textContent(), '');
  assert.equal(await best(), '0');
  assert.ok(await page.locator('#train').isEnabled());
  assert.deepEqual(errors, []);
});
