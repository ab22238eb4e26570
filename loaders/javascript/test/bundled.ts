/** A program for the browser that a bundler takes; test/package.test.js compiles it. */

import { Bundle, PermissionDeniedError, type Structure, type TensorSpec } from 'tfx-onnx';

const bundle = await Bundle.open('bundle/', {
  device: 'auto',
  fallback: () => import('onnxruntime-web'),
  onProgress: ({ loaded, total }) => {
    console.log(loaded / total);
  },
});
const spec: TensorSpec | undefined = bundle.signatures['train_step']?.inputs['image'];
const structure: Structure | undefined = bundle.signatures['train_step']?.structure.result;
const rows = [new Float32Array(3), new Float32Array(3)];
const { loss } = await bundle.call('train_step', {
  image: rows,
  label: { data: [1, 2], shape: [2] },
});
await bundle.reload('next/').catch((error: unknown) => {
  if (error instanceof PermissionDeniedError) console.log(error.message);
});
console.log(spec?.shape, structure, loss?.item());
await bundle.verify();
// @ts-expect-error It is Node that saves folders.
await bundle.save('folder');
