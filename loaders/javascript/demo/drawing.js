/** The drawing board, and the image of 8 x 8 that the model takes. */

const SIDE = 8;
const PEN = 22;

/**
 * Let a canvas be drawn on.
 *
 * @param canvas The board.
 * @param onChange Called when the drawing has changed.
 */
export function makeBoard(canvas, onChange) {
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context.lineWidth = PEN;
  context.lineCap = context.lineJoin = 'round';
  context.strokeStyle = '#fff';
  let last = null;
  const position = (event) => {
    const box = canvas.getBoundingClientRect();
    return [
      ((event.clientX - box.left) * canvas.width) / box.width,
      ((event.clientY - box.top) * canvas.height) / box.height,
    ];
  };
  const line = (from, to) => {
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(to[0] + 0.01, to[1]); // also where nothing moved there is a dot
    context.stroke();
    onChange();
  };
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    last = position(event);
    line(last, last); // a dot
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!last) return;
    const next = position(event);
    line(last, next);
    last = next;
  });
  for (const end of ['pointerup', 'pointercancel']) {
    canvas.addEventListener(end, () => (last = null));
  }
  return {
    /** Show an image of 8 x 8 as if it had been drawn. */
    put(image) {
      const small = new OffscreenCanvas(SIDE, SIDE);
      const pixels = new ImageData(SIDE, SIDE);
      image.forEach((value, i) => pixels.data.set([255, 255, 255, 255 * value], 4 * i));
      small.getContext('2d').putImageData(pixels, 0, 0);
      context.clearRect(0, 0, canvas.width, canvas.height);
      const side = canvas.width;
      context.drawImage(small, side / 8, side / 8, (side * 3) / 4, (side * 3) / 4);
      onChange();
    },
    clear() {
      context.clearRect(0, 0, canvas.width, canvas.height);
      onChange();
    },
    image: () => imageOf(canvas, context),
  };
}

/** The drawing as the data set has its digits: cut out, fitted to 32 x 32, averaged to 8 x 8. */
function imageOf(canvas, context) {
  const { width, height } = canvas;
  const { data } = context.getImageData(0, 0, width, height);
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (data[4 * (y * width + x) + 3] < 128) continue;
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = Math.max(bottom, y);
    }
  }
  if (right < 0) return null;
  const fine = 32;
  const scale = fine / Math.max(bottom - top + 1, (right - left + 1) * 1.15);
  const small = new OffscreenCanvas(fine, fine).getContext('2d');
  const [w, h] = [(right - left + 1) * scale, (bottom - top + 1) * scale];
  small.drawImage(canvas, left, top, w / scale, h / scale, (fine - w) / 2, (fine - h) / 2, w, h);
  const pixels = small.getImageData(0, 0, fine, fine).data;
  const image = new Float32Array(SIDE * SIDE);
  for (let y = 0; y < fine; y++) {
    for (let x = 0; x < fine; x++) {
      const cell = SIDE * Math.floor(y / 4) + Math.floor(x / 4);
      image[cell] += pixels[4 * (y * fine + x) + 3] / 255 / 16;
    }
  }
  return image;
}

/** Show an image of 8 x 8. */
export function show(canvas, image) {
  const context = canvas.getContext('2d');
  const data = context.createImageData(SIDE, SIDE);
  (image ?? new Float32Array(SIDE * SIDE)).forEach((value, i) => {
    data.data.fill(255 * value, 4 * i, 4 * i + 3);
    data.data[4 * i + 3] = 255;
  });
  context.putImageData(data, 0, 0);
}

/** Draw a curve of losses on a logarithmic scale: each step, and their moving average. */
export function plot(svg, losses) {
  const [width, height, left, bottom, top] = [320, 200, 44, 20, 8];
  const logs = losses.map((loss) => Math.log10(Math.max(loss, 1e-6)));
  const high = logs.length ? Math.ceil(Math.max(...logs, -1)) : 0;
  const low = logs.length ? Math.min(Math.floor(Math.min(...logs)), high - 1) : -2;
  const count = Math.max(60, losses.length);
  const x = (i) => (left + ((width - left - 4) * i) / (count - 1)).toFixed(1);
  const y = (log) => (top + ((height - bottom - top) * (high - log)) / (high - low)).toFixed(1);
  const ticks = Array.from({ length: high - low + 1 }, (_, i) => low + i);
  const lines = ticks.map(
    (log) =>
      `<line x1="${left}" x2="${width}" y1="${y(log)}" y2="${y(log)}"/>` +
      `<text x="${left - 6}" y="${Number(y(log)) + 3}" text-anchor="end">${log < -3 ? `1e${log}` : 10 ** log}</text>`,
  );
  const path = (values) => values.map((v, i) => `${i ? 'L' : 'M'}${x(i)} ${y(v)}`).join('');
  let mean = logs[0];
  const smooth = logs.map((log) => (mean += (log - mean) / 6));
  const end = `L${x(logs.length - 1)} ${y(low)}L${left} ${y(low)}Z`;
  const curves = logs.length
    ? `<path class="area" d="${path(smooth)}${end}"/><path class="steps" d="${path(logs)}"/>` +
      `<path class="smooth" d="${path(smooth)}"/>`
    : '';
  const steps = `<text x="${width}" y="${height - 4}" text-anchor="end">${losses.length} steps</text>`;
  svg.innerHTML = lines.join('') + curves + steps;
}
