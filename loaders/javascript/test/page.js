/** A page of a real browser with the loader in it. */

import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { chromium } from 'playwright-core';

import { serve } from './server.js';

const here = path.dirname(fileURLToPath(import.meta.url));

/**
 * Open the test page.
 *
 * @param options `corpus`: the conformance bundles. `scratch`: where the page may save. `isolated`:
 *   whether the page may use threads. `faults`: what the server does wrong.
 * @returns `{page, server, close}`.
 */
export async function openPage({ executablePath, corpus, scratch, isolated = false, faults = {} }) {
  const mounts = {
    bench: path.join(here, '..', 'bench'),
    cases: here,
    conformance: corpus,
    loader: path.join(here, '..', 'dist'),
    ort: path.join(here, '..', 'node_modules', 'onnxruntime-web', 'dist'),
    pages: path.join(here, 'pages'),
    saved: scratch,
  };
  const server = await serve(mounts, { isolated, uploads: scratch, faults });
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const page = await browser.newPage();
  await page.goto(`${server.url}/pages/index.html`);
  await page.waitForFunction(() => document.title === 'ready');
  const close = async () => {
    await browser.close();
    await server.close();
  };
  return { page, server, close };
}
