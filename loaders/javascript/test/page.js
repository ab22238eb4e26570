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
