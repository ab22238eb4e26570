/** Paths inside a bundle; the rules are those of every system at once. */

import { BundleError } from './errors.js';
import { MAX_PATH_LENGTH } from './limits.js';

/** How many characters a text has; those beyond 16 bits are two units of JavaScript's strings. */
export function characters(text: string): number {
  let count = 0;
  for (let i = 0; i < text.length; count++) i += (text.codePointAt(i) as number) > 0xffff ? 2 : 1;
  return count;
}

/** Say what is wrong with a path, or return null. */
export function pathProblem(path: string): string | null {
  if (!path) return 'it is empty';
  const size = characters(path);
  if (size > MAX_PATH_LENGTH) return `it has ${size} characters`;
  if (path.startsWith('/')) return 'it is absolute';
  for (const part of path.split('/')) {
    if (part === '' || part === '.' || part === '..')
      return `it has the part ${JSON.stringify(part)}`;
    if (/[. ]$/.test(part)) return `its part ${JSON.stringify(part)} ends in a dot or a space`;
  }
  // Control, format, surrogate, private and unassigned characters, and separators but the space.
  const bad = /[\\:*?"<>|]|[^\P{C}]|[^\P{Z} ]/u.exec(path);
  return bad ? `it has the character ${JSON.stringify(bad[0])}` : null;
}

/**
 * Refuse a path that could leave the bundle's folder.
 *
 * @throws BundleError the path is absolute, has a `..`, or breaks another rule.
 */
export function checkPath(path: string, where: string): void {
  const problem = pathProblem(path);
  if (problem !== null) {
    throw new BundleError(
      `${where}: path ${JSON.stringify(path.slice(0, 200))} is not allowed: ${problem}; expected a ` +
        'relative path with forward slashes inside the bundle',
    );
  }
}
