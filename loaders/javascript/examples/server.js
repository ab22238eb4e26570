/**
 * A server that never blocks its event loop: worker threads compute, requests wait for them.
 *
 * `node server.js BUNDLE [PORT]`; then `curl -d '{"image": [...]}' 127.0.0.1:8080/serving_default`.
 * `handle` has the form of an Express handler: `app.post('/:signature', handle(pool))`.
 */

import http from 'node:http';
import os from 'node:os';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

/** Threads that share the work; each has the bundle open, and all map the same weights. */
export class Pool {
  #workers = [];
  #waiting = new Map();
  #next = 0;

  static async start(bundle, size = Math.max(1, os.availableParallelism() - 1)) {
    const pool = new Pool();
    // One thread each: the pool is what runs side by side.
    const options = { workerData: { bundle, session: { intraOpNumThreads: 1 } } };
    const script = new URL('./worker.js', import.meta.url);
    pool.#workers = await Promise.all(
      Array.from({ length: size }, () => {
        const worker = new Worker(script, options);
        return new Promise((resolve, reject) => {
          worker.once('error', (error) => {
            reject(error);
            pool.#fail(worker, error);
          });
          worker.once('message', () => {
            worker.on('message', (message) => pool.#settle(message));
            resolve(worker);
          });
        });
      }),
    );
    return pool;
  }

  call(signature, inputs) {
    const id = this.#next++;
    const worker = this.#workers[id % this.#workers.length];
    if (!worker) return Promise.reject(new Error('no worker is left; start the server again'));
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, worker });
      worker.postMessage({ id, signature, inputs });
    });
  }

  async stop() {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  /** A thread has died: what waits for it fails, and the others go on. */
  #fail(worker, error) {
    this.#workers = this.#workers.filter((other) => other !== worker);
    for (const [id, call] of this.#waiting) {
      if (call.worker !== worker) continue;
      this.#waiting.delete(id);
      call.reject(error);
    }
  }

  #settle({ id, outputs, error }) {
    const { resolve, reject } = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) reject(Object.assign(new Error(error.message), { name: error.name }));
    else resolve(outputs);
  }
}

const STATUS = { InvalidArgumentError: 400, DTypeMismatchError: 400, NotFoundError: 404 };

/** Characters of a request's body. */
const MOST = 32 << 20;

/** JSON has no 64-bit integers: those that a number holds exactly become one, others text. */
const plain = (_, value) =>
  typeof value !== 'bigint'
    ? value
    : Number.isSafeInteger(Number(value))
      ? Number(value)
      : `${value}`;

/** A request handler: the path is the signature, the body its inputs as JSON. */
export function handle(pool) {
  return async (request, response) => {
    const answer = (status, body) => {
      const text = JSON.stringify(body, plain);
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(text);
    };
    try {
      let text = '';
      for await (const part of request.setEncoding('utf8')) {
        text += part;
        if (text.length > MOST) return answer(413, { error: 'TooLarge', message: `limit ${MOST}` });
      }
      const signature = decodeURIComponent(request.url.slice(1));
      return answer(200, await pool.call(signature, JSON.parse(text || '{}')));
    } catch (error) {
      const isBad = error instanceof SyntaxError || error instanceof URIError;
      const status = isBad ? 400 : (STATUS[error.name] ?? 500);
      return answer(status, { error: error.name, message: error.message });
    }
  };
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [bundle, port = 8080] = process.argv.slice(2);
  http.createServer(handle(await Pool.start(bundle))).listen(port, '127.0.0.1', () => {
    console.log(`http://127.0.0.1:${port}`);
  });
}
