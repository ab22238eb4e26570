/** The last line of a test run: what passed, and what was left out. */

import { findChromium } from './chromium.js';

const where = findChromium()
  ? 'in Node and in Chromium'
  : 'in Node; there is no Chromium, so the tests in browsers were left out';
console.log(`The JavaScript loader passes its tests ${where}.`);
