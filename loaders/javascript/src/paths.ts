/** Paths inside a bundle; the rules are those of every system at once. */

import { BundleError } from './errors.js';
import { MAX_PATH_LENGTH } from './limits.js';

/** Say what is wrong with a path, or return null. */
export function pathProblem(path: string): string | null {
  if (!path) return 'it is empty';
  if (path.length > MAX_PATH_LENGTH) return `it has ${path.length} characters`;
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
