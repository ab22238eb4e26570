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
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    last = position(event);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!last) return;
    const next = position(event);
    context.beginPath();
    context.moveTo(...last);
    context.lineTo(...next);
    context.stroke();
    last = next;
    onChange();
  });
  for (const end of ['pointerup', 'pointercancel']) {
    canvas.addEventListener(end, () => (last = null));
  }
  return {
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

/** Draw a curve of losses on a logarithmic scale. */
export function plot(svg, losses) {
  const [width, height, left, bottom] = [320, 140, 40, 18];
  const logs = losses.map((loss) => Math.log10(Math.max(loss, 1e-6)));
  const high = Math.ceil(Math.max(...logs, -1));
  const low = Math.min(Math.floor(Math.min(...logs, 0)), high - 1);
  const x = (i) => left + ((width - left - 6) * i) / Math.max(1, losses.length - 1);
  const y = (log) => 6 + ((height - bottom - 6) * (high - log)) / (high - low);
  const ticks = Array.from({ length: high - low + 1 }, (_, i) => low + i);
  const lines = ticks.map(
    (log) =>
      `<line x1="${left}" x2="${width}" y1="${y(log)}" y2="${y(log)}"/>` +
      `<text x="${left - 6}" y="${y(log) + 3}" text-anchor="end">${10 ** log}</text>`,
  );
  const path = logs.map((log, i) => `${i ? 'L' : 'M'}${x(i).toFixed(1)} ${y(log).toFixed(1)}`);
  const steps = `<text x="${width}" y="${height - 4}" text-anchor="end">${losses.length} steps</text>`;
  svg.innerHTML = `${lines.join('')}<path d="${path.join('')}"/>${steps}`;
}
