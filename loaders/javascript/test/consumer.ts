/** A program that uses the package with strict types; test/package.test.js compiles it. */

import {
  type ArchiveBytes,
  Bundle,
  InvalidArgumentError,
  Tensor,
  type TensorLike,
} from 'tfx-onnx/node';
import { Bundle as WebBundle, type Device } from 'tfx-onnx/web';

const bundle: Bundle = await Bundle.open('folder', { freeze: false });
const inputs = { x: [[1, 2]], z: { data: new Float32Array(3), shape: [3] } };
const { y } = await bundle.call('signature', inputs);
if (y instanceof Tensor) console.log(y.item(), y.toArray(), y.shape.length);
const value: TensorLike = 5n;
try {
  await bundle.variables.assign({ value });
} catch (error) {
  if (error instanceof InvalidArgumentError) console.log(error.message);
}
const page = await WebBundle.open(new URL('bundle/', location.href), {
  device: 'auto',
  signal: AbortSignal.timeout(1000),
});
const archives: ArchiveBytes[] = [new Blob([]), new ArrayBuffer(8), new Uint8Array(8)];
for (const bytes of archives) await (await Bundle.open(bytes)).reload(bytes);
await (await WebBundle.open(archives[0] ?? 'bundle.tfx')).reload('bundle.tfx');
// @ts-expect-error A list of numbers is no archive.
await Bundle.open([80, 75, 3, 4]);
const device: Device = page.device;
const file: Blob = await page.zip();
console.log(device, file.size, Object.values(bundle.signatures).map(String));
// @ts-expect-error There is no such device.
await WebBundle.open('bundle/', { device: 'cuda' });
// @ts-expect-error A date is no tensor.
await bundle.call('signature', { x: new Date() });
