/** The page: a bundle is opened, asked, trained and given away. */

import * as ort from './ort.wasm.min.mjs';
import { Bundle } from './tfx-web.js';

import { makeBoard, plot, show } from './drawing.js';
import { makeTurns, onPress } from './turns.js';

const STEPS = 60;
const BATCH = 48;
const $ = (id) => document.getElementById(id);
const say = (text) => ($('status').textContent = text);

const inTurn = makeTurns((error) => say(`${error.name}: ${error.message}`));
const mine = [];
const losses = [];
let bundle, rehearsal;

const bars = Array.from({ length: 10 }, (_, digit) => {
  const row = document.createElement('li');
  row.innerHTML = `<span>${digit}</span><i></i><span>0 %</span>`;
  $('bars').append(row);
  return row;
});

const board = makeBoard($('board'), () => void classify());
for (let digit = 0; digit < 10; digit++) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = digit;
  button.setAttribute('aria-label', `It is a ${digit}`);
  button.addEventListener('click', () => teach(digit));
  $('labels').append(button);
}
$('clear').addEventListener('click', () => board.clear());
$('sample').addEventListener('click', drawSample);
addEventListener('keydown', (event) => {
  if (event.key === 'Escape') board.clear();
});
const isTraining = onPress($('train'), inTurn, train);
$('undo').addEventListener('click', () => void inTurn(undo));
$('download').addEventListener('click', () => void inTurn(download));

async function classify() {
  const image = board.image();
  show($('seen'), image);
  if (!bundle) return;
  let probabilities = new Float32Array(10);
  if (image) {
    const input = { data: image, shape: [1, 8, 8] };
    probabilities = (await bundle.call('serving_default', { image: input })).probabilities.data;
  }
  const best = image ? probabilities.indexOf(Math.max(...probabilities)) : -1;
  bars.forEach((row, digit) => {
    row.children[1].style.setProperty('--part', probabilities[digit]);
    row.children[2].textContent = `${(100 * probabilities[digit]).toFixed(0)} %`;
    row.classList.toggle('best', digit === best);
  });
  const verdict = best < 0 ? '' : `It thinks that this is a ${best}.`;
  if ($('verdict').textContent !== verdict) $('verdict').textContent = verdict;
}

/** Put one of the old examples on the board, for who cannot draw. */
function drawSample() {
  const { image } = rehearsal[Math.floor(Math.random() * rehearsal.length)];
  board.put(image);
}

function teach(digit) {
  const image = board.image();
  if (!image) return say('Draw something first.');
  mine.push({ image, digit });
  $('samples').textContent = `Your examples: ${mine.map((sample) => sample.digit).join(' ')}`;
  $('train').disabled = !bundle || isTraining();
  return board.clear();
}

/** A batch of the user's examples, and of old ones so that nothing is forgotten. */
function batch() {
  const image = new Float32Array(BATCH * 64);
  const label = new BigInt64Array(BATCH);
  for (let i = 0; i < BATCH; i++) {
    const source = i % 2 ? rehearsal : mine;
    const sample = source[Math.floor(Math.random() * source.length)];
    image.set(sample.image, 64 * i);
    label[i] = BigInt(sample.digit);
  }
  return { image: { data: image, shape: [BATCH, 8, 8] }, label };
}

async function train() {
  say('Training…');
  const start = performance.now();
  for (let step = 0; step < STEPS; step++) {
    const { loss } = await bundle.call('train_step', batch());
    losses.push(loss.item());
    $('loss').textContent = `loss ${losses.at(-1).toFixed(4)}`;
    if (step % 4 === 0) {
      plot($('curve'), losses);
      await new Promise(requestAnimationFrame);
    }
  }
  plot($('curve'), losses);
  const each = (performance.now() - start) / STEPS;
  $('undo').disabled = $('download').disabled = false;
  await bundle.saveCheckpoint('latest');
  await classify();
  say(`Trained ${STEPS} steps of ${BATCH} images, ${each.toFixed(1)} ms each, in this tab.`);
}

async function undo() {
  await bundle.restore('start');
  losses.length = 0;
  plot($('curve'), losses);
  $('loss').textContent = '';
  await classify();
  say('The weights are those that were downloaded.');
}

async function download() {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await bundle.zip('trained_digits'));
  link.download = 'trained_digits.zip';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function start() {
  ort.env.wasm.wasmPaths = new URL('./', import.meta.url).href;
  const onProgress = ({ loaded, total }) =>
    say(`Downloading weights: ${(loaded / 1024).toFixed(0)} of ${(total / 1024).toFixed(0)} KiB`);
  bundle = await Bundle.open('digits_bundle/', { ort, onProgress });
  const samples = await (await fetch('samples.json')).json();
  rehearsal = samples.map(({ image, digit }) => ({ image: Float32Array.from(image), digit }));
  await bundle.saveCheckpoint('start');
  await bundle.warmup();
  $('sample').disabled = false;
  $('train').disabled = !mine.length;
  say(
    `Ready. ${bundle.variables.names().length} variables; ${String(bundle.signatures.train_step)}`,
  );
  await classify();
}

plot($('curve'), losses);
void inTurn(start);
