/** A page of a real browser with the loader in it. */

import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { launch } from './chromium.js';
import { serve } from './server.js';

const here = path.dirname(fileURLToPath(import.meta.url));

/** Pages of the loopback address are trusted; under another name they are not. */
const RENAMED = ['--host-resolver-rules=MAP plain.test 127.0.0.1'];
const SOFTWARE_GPU = ['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'];

/** Start a browser for several pages; `gpu` as for `openPage`. */
export function launchFor(executablePath, { gpu = false } = {}) {
  return launch(executablePath, gpu ? SOFTWARE_GPU : RENAMED);
}

/**
 * Open the test page.
 *
 * @param options `browser`: from `launchFor`; left out, one of its own. `corpus`: the conformance bundles. `scratch`: where the page may save. `isolated`:
 *   whether the page may use threads. `gpu`: give the browser a WebGPU adapter that computes on the
 *   CPU (SwiftShader). `secure`: false gives the page a name that browsers do not trust. `build`: which build of onnxruntime-web. `faults`: what the server does wrong.
 * @returns `{page, server, close}`.
 */
export async function openPage({
  executablePath,
  browser: given,
  corpus,
  scratch,
  isolated = false,
  gpu = false,
  secure = true,
  build = gpu ? 'ort.webgpu' : 'ort',
  faults = {},
}) {
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
  const browser = given ?? (await launchFor(executablePath, { gpu }));
  const context = await browser.newContext();
  const page = await context.newPage();
  const url = secure ? server.url : server.url.replace('127.0.0.1', 'plain.test');
  await page.goto(`${url}/pages/index.html?build=${build}`);
  await page.waitForFunction(() => document.title === 'ready');
  const close = async () => {
    await context.close();
    if (!given) await browser.close();
    await server.close();
  };
  return { page, server, close };
}

/**
 * Press a button of a demo page and wait until its status says something. It may take as long as the
 * page shows progress; an error that it tells, or two minutes without a change, is a failure.
 */
export async function press(page, name, expected) {
  // What an earlier press left there is no answer to this one.
  await page.evaluate(() => (document.querySelector('#status').textContent = ''));
  await page.getByRole('button', { name, exact: true }).click();
  await waitForStatus(page, expected);
}

/** Wait until a demo page's status says something. */
export async function waitForStatus(page, expected, patience = 120_000) {
  let seen, since;
  for (;;) {
    const [status, loss] = await page.evaluate(() =>
      ['#status', '#loss'].map((name) => document.querySelector(name).textContent),
    );
    if (status.includes(expected)) return;
    const now = `the status is "${status}", and the loss "${loss}"`;
    if (now !== seen) [seen, since] = [now, Date.now()];
    const isStuck = Date.now() - since > patience;
    if (isStuck || /^\w*Error: /.test(status)) {
      throw new Error(`waited for "${expected}"; ${now}${isStuck ? ', unchanged for long' : ''}`);
    }
    await page.waitForTimeout(50);
  }
}
