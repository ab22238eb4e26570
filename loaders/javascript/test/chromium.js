/** Finds a Chromium to test with. */

import fs from 'node:fs';

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The path of a Chromium, or null. `CHROMIUM` in the environment comes first. */
export function findChromium() {
  const given = process.env.CHROMIUM;
  if (given) return given;
  return PLACES.find((place) => fs.existsSync(place)) ?? null;
}
