/** Calls of a bundle against calls of a bare session on the same graph; in Node and in the browser. */

/**
 * Compare.
 *
 * @param ort The runtime.
 * @param bundle Has the signature `serving_default` of one input `image`.
 * @param session The same graph.
 * @param image Numbers of the images.
 * @returns Microseconds of a call, ours and bare, over interleaved rounds.
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
  // Rounds shorter than the slices of time that a busy machine deals out, in turns: what else it does
  // meets both, and the quietest rounds count.
  const count = Math.max(4, Math.round(5_000 / (await time(bare, 50))));
  const rounds = { ours: [], bare: [] };
  for (let round = 0; round < 200; round++) {
    const order = round % 2 ? ['ours', 'bare'] : ['bare', 'ours'];
    for (const name of order) rounds[name].push(await time(name === 'ours' ? ours : bare, count));
  }
  // The first tenth of each, which a single lucky round does not decide.
  const tenth = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 10)];
  return { ours: tenth(rounds.ours), bare: tenth(rounds.bare) };
}
