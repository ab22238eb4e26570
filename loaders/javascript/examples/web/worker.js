/**
 * A worker of a page that has the bundle: the page stays free while graphs run.
 *
 * Module workers have no import maps, so the runtime is imported by its address.
 */

import { Bundle } from './tfx-web.js';

let opening;

async function answer({ id, open, signature, inputs }) {
  if (open) {
    opening = import(open.ort).then((ort) => Bundle.open(open.bundle, { ...open.options, ort }));
    return;
  }
  try {
    const bundle = await opening;
    const outputs = Object.entries(await bundle.call(signature, inputs));
    const plain = outputs.map(([name, { dtype, shape, data }]) => [name, { dtype, shape, data }]);
    postMessage({ id, outputs: Object.fromEntries(plain) });
  } catch (error) {
    postMessage({ id, error: { name: error.name, message: error.message } });
  }
}

addEventListener('message', ({ data }) => void answer(data));
