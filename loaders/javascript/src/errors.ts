/**
 * The kinds of errors, by the names that the specification of bundles gives them.
 *
 * Every message says what was given, what was expected, and what to do.
 */

/** What all errors of this package are. */
export class OpError extends Error {
  // Written out: minified classes have other names.
  override name = 'OpError';
}

/** There is no such folder, signature or variable. */
export class NotFoundError extends OpError {
  override name = 'NotFoundError';
}

/** It is no bundle, or it is damaged, incomplete, or breaks a rule of the format. */
export class BundleError extends OpError {
  override name = 'BundleError';
}

/** A newer format, a required feature that is not known, or a graph too new for the runtime. */
export class UnsupportedVersionError extends OpError {
  override name = 'UnsupportedVersionError';
}

/** The runtime has no kernel for an operator, or no tensors of a dtype. */
export class UnimplementedError extends OpError {
  override name = 'UnimplementedError';
}

/** An input is missing, unknown, or of a wrong shape or range, or a kernel refused its values. */
export class InvalidArgumentError extends OpError {
  override name = 'InvalidArgumentError';
}

/** A tensor has another dtype than its input or variable. */
export class DTypeMismatchError extends InvalidArgumentError {
  override name = 'DTypeMismatchError';
}

/** The bundle was closed, a save cannot keep the places of weights, or a version has other graphs. */
export class FailedPreconditionError extends OpError {
  override name = 'FailedPreconditionError';
}

/** The target of a save is something that is not a bundle. */
export class AlreadyExistsError extends OpError {
  override name = 'AlreadyExistsError';
}

/** The bundle on disk was replaced since it was opened, or since a save began. */
export class AbortedError extends OpError {
  override name = 'AbortedError';
}

/** A folder, file or address that may not be read or written. */
export class PermissionDeniedError extends OpError {
  override name = 'PermissionDeniedError';
}

/** Not enough memory, or the disk is full. */
export class ResourceExhaustedError extends OpError {
  override name = 'ResourceExhaustedError';
}

/** The text of anything that was thrown, on one line. */
export function reason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s+/g, ' ').trim();
}

/** Names in quotes, at most ten of them. */
export function listed(names: Iterable<string>): string {
  const all = [...names];
  const shown = all.slice(0, 10).map((name) => JSON.stringify(name));
  const more = all.length > 10 ? ` and ${all.length - 10} more` : '';
  return shown.length ? shown.join(', ') + more : 'none';
}

/** A hint at what a wrong name may have meant. */
export function nearest(name: string, known: Iterable<string>): string {
  const names = [...known];
  let best: string | undefined;
  let least = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const item of names) {
    const d = distance(name.toLowerCase(), item.toLowerCase(), least);
    if (d < least) [best, least] = [item, d];
  }
  return best === undefined
    ? `it has ${listed(names)}`
    : `did you mean ${JSON.stringify(best)}? It has ${listed(names)}`;
}

/** Levenshtein's distance, not exact from `limit` on. */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? limit;
}
