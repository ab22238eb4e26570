/**
 * The page's side of a bundle in a worker: `await client.call(signature, inputs)`.
 *
 * @example
 * const client = new Client('digits_bundle/', { ort: './ort/ort.wasm.min.mjs' });
 * const { loss } = await client.call('train_step', { image, label });
 * console.log(loss.data[0]);
 */

export class Client {
  #worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
  #waiting = new Map();
  #next = 0;
  #end = null;

  /**
   * @param bundle Address of the bundle's folder.
   * @param ort Address of the module of onnxruntime-web.
   * @param options More options of `Bundle.open` that can be sent, such as `device`.
   */
  constructor(bundle, { ort, ...options }) {
    const absolute = (place) => new URL(place, location.href).href;
    this.#worker.onmessage = ({ data }) => this.#settle(data);
    this.#worker.onerror = ({ message }) => this.stop(`the worker has failed: ${message}`);
    this.#worker.postMessage({ open: { bundle: absolute(bundle), ort: absolute(ort), options } });
  }

  /** Call a signature; tensors come as `{dtype, shape, data}`. */
  call(signature, inputs = {}) {
    if (this.#end) return Promise.reject(new Error(this.#end));
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, signature, inputs });
    });
  }

  /** End the worker; what waits for it fails. */
  stop(why = 'the worker was stopped') {
    this.#end = why;
    this.#worker.terminate();
    for (const { reject } of this.#waiting.values()) reject(new Error(why));
    this.#waiting.clear();
  }

  #settle({ id, outputs, error }) {
    const { resolve, reject } = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) reject(Object.assign(new Error(error.message), { name: error.name }));
    else resolve(outputs);
  }
}
