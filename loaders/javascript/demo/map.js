/** Points of many dimensions on a flat map: the two directions in which they differ most. */

const ROUNDS = 60;

/** @param {Float32Array[]} vectors @returns {[number, number][]} Places, centred, at most 1 away. */
export function flatten(vectors) {
  const width = vectors[0].length;
  const mean = middle(vectors);
  const centred = vectors.map((vector) => vector.map((x, i) => x - mean[i]));
  const axes = [];
  for (let axis = 0; axis < 2; axis++) {
    let direction = Float32Array.from({ length: width }, (_, i) => Math.cos(1.7 * i * (axis + 1)));
    for (let round = 0; round < ROUNDS; round++) {
      const next = new Float32Array(width);
      for (const point of centred) {
        const along = dot(point, direction);
        point.forEach((x, i) => (next[i] += along * x));
      }
      for (const known of axes) {
        const along = dot(next, known);
        known.forEach((x, i) => (next[i] -= along * x));
      }
      const length = Math.sqrt(dot(next, next)) || 1;
      direction = next.map((x) => x / length);
    }
    axes.push(direction);
  }
  const flat = centred.map((point) => axes.map((axis) => dot(point, axis)));
  const far = Math.max(...flat.map(([x, y]) => Math.hypot(x, y)), 1e-9);
  return flat.map(([x, y]) => [x / far, y / far]);
}

export function dot(x, y) {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i] * y[i];
  return sum;
}

export function middle(vectors) {
  const sum = new Float32Array(vectors[0].length);
  for (const vector of vectors) vector.forEach((x, i) => (sum[i] += x / vectors.length));
  return sum;
}
