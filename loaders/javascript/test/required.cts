/** A program in CommonJS; test/package.test.js compiles it. */

async function main(): Promise<void> {
  const { Bundle } = await import('tfx-onnx');
  const bundle = await Bundle.open(new URL('file:///bundle'), { maxShardBytes: 1e9 });
  await bundle.reload();
  await bundle.save('folder');
  await bundle.close();
}

void main();
