/**
 * A plain script, as it also runs in Electron's main process: classify images, then go on training.
 *
 * `node script.js BUNDLE`, with the bundle of `make demo ARGS="--out digits_bundle"`.
 */

import { Bundle } from 'tfx-onnx';

const bundle = await Bundle.open(process.argv[2] ?? 'digits_bundle');
for (const signature of Object.values(bundle.signatures)) console.log(String(signature));

const image = { data: new Float32Array(4 * 64).fill(0.5), shape: [4, 8, 8] };
const { digit } = await bundle.call('serving_default', { image });
console.log('digits:', digit.toArray());

for (let step = 0; step < 10; step++) {
  const { loss } = await bundle.call('train_step', { image, label: [1, 1, 1, 1] });
  if (step % 3 === 0) console.log('loss:', loss.item().toFixed(4));
}
await bundle.close();
