/** The examples run, and the server answers while others compute. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import http from 'node:http';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { handle, Pool } from '../examples/server.js';

const here = path.dirname(fileURLToPath(import.meta.url));
const demo = process.env.TFX_DEMO;
const skip = demo ? false : 'set TFX_DEMO to the folder that tools/make_demo_web.py made';
const bundle = demo && path.join(demo, 'digits_bundle');

test('the script classifies and trains', { skip }, () => {
  const script = path.join(here, '..', 'examples', 'script.js');
  const output = String(execFileSync(process.execPath, [script, bundle]));
  const losses = [...output.matchAll(/loss: ([\d.]+)/g)].map(([, loss]) => Number(loss));
  assert.match(output, /digits: \[ \d/);
  assert.ok(losses.at(-1) < losses[0], output);
});

test('the server computes on other threads', { skip }, async () => {
  const pool = await Pool.start(bundle, 1);
  const server = http.createServer(handle(pool));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  const post = async (name, body) => {
    const response = await fetch(`${url}/${name}`, { method: 'POST', body });
    return [response.status, await response.json()];
  };
  try {
    const image = Array.from({ length: 8 }, () => Array(8).fill(0.5));
    const [status, found] = await post('serving_default', JSON.stringify({ image: [image] }));
    assert.equal(status, 200);
    assert.equal(found.probabilities[0].length, 10);
    assert.equal((await post('serving', '{}'))[0], 404);
    assert.equal((await post('serving_default', '{}'))[0], 400);
    assert.equal((await post('serving_default', '{'))[0], 400);
    assert.equal((await post('%', '{}'))[0], 400);
    const endless = 'x'.repeat((32 << 20) + 1);
    assert.equal((await post('serving_default', endless))[0], 413);
    // A large batch takes long; the event loop goes on meanwhile.
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const large = JSON.stringify({ image: Array(3000).fill(image) });
    const inputs = JSON.parse(large);
    const start = performance.now();
    const working = pool.call('serving_default', inputs);
    turns = 0;
    const begun = performance.now();
    await working;
    const ended = performance.now();
    clearInterval(timer);
    assert.ok(
      ended - begun < 30 || turns > 3,
      `${turns} turns in ${ended - begun} of ${ended - start} ms`,
    );
  } finally {
    server.close();
    await pool.stop();
  }
});
