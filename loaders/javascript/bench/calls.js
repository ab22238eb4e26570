/** Calls of a bundle against calls of a bare session on the same graph; in Node and in the browser. */

/**
 * Compare.
 *
 * @param ort The runtime.
 * @param bundle Has the signature `serving_default` of one input `image`.
 * @param session The same graph.
 * @param image Numbers of the images.
 * @returns Microseconds of a call, ours and bare: the least over interleaved rounds.
 */
export async function compareCalls(ort, bundle, session, image) {
  const data = Float32Array.from(image);
  const shape = [data.length / 64, 8, 8];
  const ours = () => bundle.call('serving_default', { image: { data, shape } });
  // What a program without a loader does: it makes the tensor, and reads the results.
  const bare = async () => {
    const found = await session.run({ image: new ort.Tensor('float32', data, shape) });
    return [found.digit.data, found.probabilities.data];
  };
  const time = async (work, count) => {
    const start = performance.now();
    for (let i = 0; i < count; i++) await work();
    return (1000 * (performance.now() - start)) / count;
  };
  await time(ours, 50);
  await time(bare, 50);
  const count = Math.max(20, Math.round(60_000 / (await time(bare, 50))));
  const least = { ours: Infinity, bare: Infinity };
  for (let round = 0; round < 12; round++) {
    least.ours = Math.min(least.ours, await time(ours, count));
    least.bare = Math.min(least.bare, await time(bare, count));
  }
  return least;
}
