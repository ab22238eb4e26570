/** A thread that has the bundle: onnxruntime-node computes on the thread that calls it. */

import { parentPort, workerData } from 'node:worker_threads';

import { Bundle } from 'tfx-onnx';

const bundle = await Bundle.open(workerData.bundle, { session: workerData.session });
await bundle.warmup('serving_default');
parentPort.postMessage({ ready: true });

parentPort.on('message', async ({ id, signature, inputs }) => {
  try {
    const outputs = await bundle.call(signature, inputs);
    const plain = Object.entries(outputs).map(([name, tensor]) => [name, tensor.toArray()]);
    parentPort.postMessage({ id, outputs: Object.fromEntries(plain) });
  } catch (error) {
    parentPort.postMessage({ id, error: { name: error.name, message: error.message } });
  }
});
