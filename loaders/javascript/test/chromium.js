/** Finds a Chromium to test with, and starts it. */

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { chromium } from 'playwright-core';

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The path of a Chromium, or null. `CHROMIUM` in the environment comes first; `none` is none. */
export function findChromium() {
  const given = process.env.CHROMIUM;
  if (given) return given === 'none' ? null : given;
  return PLACES.find((place) => fs.existsSync(place)) ?? null;
}

/** Start it, with a home of its own: nothing is left in the caller's. */
export async function launch(executablePath, args = []) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'tfx-chromium-'));
  const names = ['HOME', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_DATA_HOME'];
  const env = { ...process.env, ...Object.fromEntries(names.map((name) => [name, home])) };
  const browser = await chromium.launch({ executablePath, env, args: ['--no-sandbox', ...args] });
  browser.on('disconnected', () =>
    fs.rmSync(home, { recursive: true, force: true, maxRetries: 5 }),
  );
  return browser;
}
