/** The page: sentences in subjects, an adapter that learns them, and what changes by it. */

import * as ort from './ort.wasm.min.mjs';
import { Bundle } from './tfx-web.js';

import { adapterFile, factors } from './adapter.js';
import { plot } from './drawing.js';
import { dot, flatten, middle } from './map.js';
import { makeTurns, onPress } from './turns.js';
import { WordPiece } from './wordpiece.js';

const STEPS = 30;
const LENGTH = 32;
const COLOURS = ['--first', '--second', '--third'];
const $ = (id) => document.getElementById(id);
const say = (text) => ($('status').textContent = text);

const inTurn = makeTurns((error) => say(`${error.name}: ${error.message}`));
const losses = [];
let bundle, tokenizer, settings, scale;
let isStale = false;

function addGroup({ name, sentences }, i) {
  const group = document.createElement('div');
  group.style.setProperty('--colour', `var(${COLOURS[i]})`);
  const title = document.createElement('input');
  title.value = name;
  title.setAttribute('aria-label', `Name of subject ${i + 1}`);
  const text = document.createElement('textarea');
  text.value = sentences.join('\n');
  text.setAttribute('aria-label', `Sentences of subject ${i + 1}`);
  for (const field of [title, text]) field.addEventListener('input', refresh);
  group.append(title, text);
  $('groups').append(group);
}

/** The sentences as they stand there, with the numbers of their subjects. */
function examples() {
  const found = { texts: [], labels: [], names: [] };
  [...$('groups').children].forEach((group, i) => {
    const [title, text] = group.children;
    found.names.push(title.value.trim() || `subject ${i + 1}`);
    for (const line of text.value.split('\n')) {
      if (line.trim()) {
        found.texts.push(line.trim());
        found.labels.push(i);
      }
    }
  });
  return found;
}

/** Sentences to vectors of length one. */
async function encode(texts) {
  const { embeddings } = await bundle.call('encode', tokenizer.batch(texts, LENGTH));
  const width = embeddings.shape[1];
  return texts.map((_, i) => embeddings.data.slice(i * width, (i + 1) * width));
}

/** Draw the map and the answer anew: once, however much is typed before it is their turn. */
function refresh() {
  if (!bundle || isStale) return;
  isStale = true;
  void inTurn(() => {
    isStale = false;
    return draw();
  });
}

async function draw() {
  const { texts, labels, names } = examples();
  const asked = $('sentence').value.trim();
  if (!texts.length) return;
  const vectors = await encode(asked ? [...texts, asked] : texts);
  drawMap(vectors, labels, texts);
  const middles = names.map((_, i) => {
    const own = vectors.filter((_, j) => labels[j] === i);
    return own.length ? unit(middle(own)) : null;
  });
  drawAnswer(asked ? middles.map((m) => (m ? dot(m, vectors.at(-1)) : -1)) : null, names);
}

function unit(vector) {
  const length = Math.sqrt(dot(vector, vector)) || 1;
  return vector.map((x) => x / length);
}

function drawMap(vectors, labels, texts) {
  const places = flatten(vectors);
  while ($('points').children.length > places.length) $('points').lastChild.remove();
  places.forEach(([x, y], i) => {
    let point = $('points').children[i];
    if (!point) {
      point = document.createElementNS('http://www.w3.org/2000/svg', 'circle');
      point.append(document.createElementNS('http://www.w3.org/2000/svg', 'title'));
      $('points').append(point);
    }
    const isAsked = i >= labels.length;
    point.classList.toggle('asked', isAsked);
    point.style.setProperty('--colour', `var(${COLOURS[labels[i] ?? 0]})`);
    point.setAttribute('cx', (160 + 145 * x).toFixed(1));
    point.setAttribute('cy', (120 - 105 * y).toFixed(1));
    point.setAttribute('r', isAsked ? 8 : 6);
    point.firstChild.textContent = isAsked ? $('sentence').value : texts[i];
  });
  const [same, other] = likeness(vectors, labels);
  $('apart').textContent = `likeness within a subject ${same}, between subjects ${other}`;
}

/** The mean likeness of two sentences of one subject, and of two. */
function likeness(vectors, labels) {
  const sums = [0, 0];
  const counts = [0, 0];
  for (let i = 0; i < labels.length; i++) {
    for (let j = 0; j < i; j++) {
      const kind = labels[i] === labels[j] ? 0 : 1;
      sums[kind] += dot(vectors[i], vectors[j]);
      counts[kind]++;
    }
  }
  return sums.map((sum, kind) => (counts[kind] ? (sum / counts[kind]).toFixed(2) : '–'));
}

function drawAnswer(scores, names) {
  const best = scores ? scores.indexOf(Math.max(...scores)) : -1;
  $('likeness').replaceChildren(
    ...names.map((name, i) => {
      const row = document.createElement('li');
      const [title, number, bar] = ['span', 'span', 'i'].map((tag) => document.createElement(tag));
      title.textContent = name;
      number.textContent = scores ? scores[i].toFixed(2) : '';
      bar.style.setProperty('--part', scores ? Math.max(0, scores[i]) : 0);
      row.style.setProperty('--colour', `var(${COLOURS[i]})`);
      row.classList.toggle('best', i === best);
      row.append(title, number, bar);
      return row;
    }),
  );
  const verdict = best < 0 ? '' : `It is nearest to ${names[best]}.`;
  if ($('verdict').textContent !== verdict) $('verdict').textContent = verdict;
}

async function train() {
  const { texts, labels, names } = examples();
  const counts = names.map((_, i) => labels.filter((label) => label === i).length);
  if (counts.filter((count) => count > 1).length < 2) {
    say('Give at least two subjects two sentences each: it learns from pairs.');
    return;
  }
  say('Training…');
  await useAdapter(true);
  const batch = {
    ...tokenizer.batch(texts, LENGTH),
    labels: BigInt64Array.from(labels, (label) => BigInt(label)),
  };
  const start = performance.now();
  for (let step = 0; step < STEPS; step++) {
    const { loss } = await bundle.call('train_step', batch);
    losses.push(loss.item());
    $('loss').textContent = `loss ${losses.at(-1).toFixed(4)}`;
    plot($('curve'), losses);
    if (step % 5 === 4) await draw();
    await new Promise(requestAnimationFrame);
  }
  const each = (performance.now() - start) / STEPS;
  for (const id of ['undo', 'download', 'switch']) $(id).disabled = false;
  await draw();
  say(
    `Trained ${STEPS} steps of ${texts.length} sentences, ${each.toFixed(0)} ms each, in this tab.`,
  );
}

/** Switch the adapter on or off: one number of the bundle. */
async function useAdapter(isOn) {
  await bundle.variables.assign({
    'lora/scale': { data: Float32Array.of(isOn ? scale : 0), shape: [] },
  });
  $('switch').setAttribute('aria-pressed', String(!isOn));
}

async function toggle() {
  const isOn = $('switch').getAttribute('aria-pressed') === 'true';
  const start = performance.now();
  await useAdapter(isOn);
  const took = performance.now() - start;
  await draw();
  say(`${isOn ? 'With' : 'Without'} the adapter; switched in ${took.toFixed(1)} ms.`);
}

async function undo() {
  await bundle.restore('start');
  losses.length = 0;
  plot($('curve'), losses);
  $('loss').textContent = '';
  $('switch').setAttribute('aria-pressed', 'false');
  await draw();
  say('The adapter is what it was at the beginning: it changes nothing.');
}

async function download() {
  await useAdapter(true);
  const link = document.createElement('a');
  const file = adapterFile(bundle, settings);
  link.href = URL.createObjectURL(new Blob([file], { type: 'application/octet-stream' }));
  link.download = 'adapter.safetensors';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  await draw();
}

async function start() {
  plot($('curve'), losses);
  const page = await (await fetch('sentences.json')).json();
  settings = page.settings;
  scale = settings.lora_alpha / settings.r;
  page.groups.forEach(addGroup);
  $('sentence').value = page.asked;
  ort.env.wasm.wasmPaths = new URL('./', import.meta.url).href;
  const onProgress = ({ loaded, total }) =>
    say(`Downloading weights: ${(loaded / 1024).toFixed(0)} of ${(total / 1024).toFixed(0)} KiB`);
  tokenizer = new WordPiece(page.vocabulary);
  bundle = await Bundle.open('sentences_bundle/', { ort, onProgress });
  const count = factors(bundle).flatMap(({ a, b }) => [a, b]);
  const numbers = count.reduce((sum, name) => sum + bundle.variables.get(name).data.length, 0);
  $('size').textContent = `${numbers.toLocaleString('en')} numbers`;
  await bundle.saveCheckpoint('start');
  $('sentence').addEventListener('input', refresh);
  onPress($('train'), inTurn, train);
  $('switch').addEventListener('click', () => void inTurn(toggle));
  $('undo').addEventListener('click', () => void inTurn(undo));
  $('download').addEventListener('click', () => void inTurn(download));
  await draw();
  $('train').disabled = false;
  say(`Ready. ${page.model}; ${String(bundle.signatures.train_step)}`);
}

void inTurn(start);
