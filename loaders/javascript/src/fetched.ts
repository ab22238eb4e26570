/** Files from a server: those of a folder one by one, or an archive as a whole. */

import { sha256 as portableSha256 } from '@noble/hashes/sha2.js';

import { isArchive, MARK_SIZE } from './archive.js';
import {
  type ArchiveBytes,
  ArchiveInMemory,
  isBytes,
  nameOf,
  noArchive,
} from './archive_memory.js';
import {
  BundleError,
  NotFoundError,
  OpError,
  PermissionDeniedError,
  reason,
  ResourceExhaustedError,
} from './errors.js';
import type { FileEntry } from './manifest.js';
import { checkPath } from './paths.js';
import type { Files } from './platform.js';
import { MANIFEST } from './sources.js';
import { joined } from './wire.js';

/** How far a download is, in bytes. */
export interface Progress {
  readonly file: string;
  readonly loaded: number;
  readonly total: number;
}

/** How files are fetched. */
export interface FetchOptions {
  /** Called while weights, or an archive, are downloaded, with the sum over all of their files. */
  readonly onProgress?: (progress: Progress) => void;
  /** Keep graphs and weights in the browser's cache, by their hashes (the default). */
  readonly cache?: boolean;
  /** Give the download up when this is aborted; `open` then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Browsers offer theirs on secure pages only. */
const subtle: SubtleCrypto | undefined = (globalThis.crypto as Crypto | undefined)?.subtle;

export async function sha256(...parts: readonly Uint8Array[]): Promise<Uint8Array> {
  const data = parts.length === 1 ? (parts[0] as Uint8Array) : joined(...parts);
  if (!subtle) return portableSha256(data);
  return new Uint8Array(await subtle.digest('SHA-256', data as BufferSource));
}

/** The files below an address. */
export class FetchedFiles implements Files {
  readonly where: string;
  /** Once the bundle is open the caller's signal means nothing more. */
  isOpen = false;
  private readonly base: URL;
  private readonly held = new Map<string, Uint8Array>();
  private readonly hashes = new Map<string, string>();
  /** Files that are what their hash says. */
  private readonly checked = new Set<string>();
  private readonly waiting = new Map<string, Promise<Uint8Array>>();
  private readonly stop = new AbortController();

  constructor(
    url: string | URL,
    private readonly options: FetchOptions & { readonly verify?: boolean },
  ) {
    const base = new URL(url, globalThis.location.href);
    if (!base.pathname.endsWith('/')) base.pathname += '/';
    this.base = base;
    this.where = base.href.slice(0, -1);
  }

  know(entries: readonly FileEntry[]): void {
    for (const { path, sha256: hash } of entries) this.hashes.set(path, hex(hash));
  }

  async prefetch(entries: readonly FileEntry[]): Promise<ReadonlySet<string>> {
    const total = entries.reduce((n, e) => n + e.size, 0);
    const loaded = new Map<string, number>();
    const work = entries.map(async ({ path, size }) => {
      const report = (count: number): void => {
        loaded.set(path, count);
        const sum = [...loaded.values()].reduce((a, b) => a + b, 0);
        this.options.onProgress?.({ file: path, loaded: sum, total });
      };
      this.held.set(path, await this.get(path, size, report));
    });
    try {
      await Promise.all(work);
    } catch (error) {
      this.stop.abort(error); // the others need not go on
      await Promise.allSettled(work);
      throw error;
    }
    return this.checked;
  }

  size(path: string): Promise<number | null> {
    return Promise.resolve(this.held.get(path)?.length ?? null);
  }

  async read(path: string, limit: number): Promise<Uint8Array> {
    const known = this.held.get(path) ?? this.waiting.get(path);
    if (known) return known;
    const got = this.get(path, limit, () => undefined);
    this.waiting.set(path, got);
    return got.finally(() => this.waiting.delete(path));
  }

  readRange(path: string, offset: number, length: number): Uint8Array {
    const data = this.held.get(path) ?? new Uint8Array();
    if (offset + length > data.length) {
      throw new BundleError(`${this.where}/${path}: it ends early, it was truncated`);
    }
    return data.subarray(offset, offset + length);
  }

  async hash(path: string): Promise<Uint8Array> {
    return sha256(await this.read(path, Number.MAX_SAFE_INTEGER));
  }

  hashNow(path: string): Uint8Array {
    return portableSha256(this.held.get(path) ?? new Uint8Array());
  }

  isUnchanged(): Promise<boolean> {
    return Promise.resolve(true); // what was downloaded is what is used
  }

  close(): Promise<void> {
    this.stop.abort(new BundleError(`${this.where}: the bundle was closed; open it again`));
    this.held.clear();
    return Promise.resolve();
  }

  private async get(
    path: string,
    limit: number,
    report: (loaded: number) => void,
  ): Promise<Uint8Array> {
    if (path !== MANIFEST) checkPath(path, this.where);
    const url = new URL(path.split('/').map(encodeURIComponent).join('/'), this.base).href;
    const hash = this.hashes.get(path);
    const cache = hash === undefined ? null : await this.cache();
    const key = `${url}?tfx-sha256=${hash ?? ''}`;
    const kept = await cache?.match(key);
    if (kept) {
      const data = new Uint8Array(await kept.arrayBuffer());
      // The browser's cache may be damaged like any other file.
      if (hex(await sha256(data)) === hash) {
        this.checked.add(path);
        report(data.length);
        return data;
      }
    }
    const kind = path === MANIFEST ? 'manifest' : 'file';
    const data = await download(url, kind, limit, report, this.signal);
    // Where the browser has a quick hash; elsewhere what is used is compared when it is.
    if (!subtle || hash === undefined || this.options.verify === false) return data;
    if (data.length !== limit) return data; // the caller says what is wrong
    if (hex(await sha256(data)) !== hash) {
      throw new BundleError(
        `${url}: its SHA-256 is not the one that the manifest says; it was changed or damaged: copy ` +
          'the bundle again',
      );
    }
    this.checked.add(path);
    if (!cache) return data;
    for (const old of await cache.keys(url, { ignoreSearch: true })) await cache.delete(old);
    // A full cache is no reason to fail.
    await cache.put(key, new Response(data as BodyInit)).catch(() => undefined);
    return data;
  }

  /** Ends downloads: when the caller says so, and when the bundle is closed. */
  private get signal(): AbortSignal {
    const { signal } = this.options;
    return signal && !this.isOpen ? AbortSignal.any([signal, this.stop.signal]) : this.stop.signal;
  }

  private async cache(): Promise<Cache | null> {
    const caches = globalThis.caches as CacheStorage | undefined; // secure pages only
    if (!caches || this.options.cache === false) return null;
    return caches.open('tfx-bundles').catch(() => null);
  }
}

/** What is downloaded: it says what answers mean. */
type Kind = 'manifest' | 'file' | 'archive';

/** What a server gives for an address, which must not have more bytes than `limit`. */
async function download(
  url: string,
  kind: Kind,
  limit: number,
  report: (loaded: number, total: number) => void,
  signal: AbortSignal,
  cache: RequestCache = kind === 'file' ? 'default' : 'no-cache',
): Promise<Uint8Array> {
  let response: Response;
  try {
    // The manifest is what says whether other files changed: always ask the server for it.
    response = await fetch(url, { cache, signal });
  } catch (error) {
    signal.throwIfAborted();
    const hint =
      new URL(url).origin === globalThis.location.origin
        ? 'try again'
        : 'its server may not allow this page to read it: it must send Access-Control-Allow-Origin';
    throw new BundleError(`${url}: cannot be downloaded (${reason(error)}); ${hint}`);
  }
  const problem = answerProblem(url, kind, response);
  if (problem || !response.body) {
    await response.body?.cancel();
    throw problem ?? new BundleError(`${url}: the server answered with nothing`);
  }
  // What is known is taken at once, so that weights are in memory one time and not two.
  const promised = Number(response.headers.get('content-length') ?? 0) || 0;
  const isEncoded = response.headers.has('content-encoding');
  const size = kind === 'file' ? limit : kind === 'archive' && !isEncoded ? promised : 0;
  return received(url, response.body, { kind, size, limit }, report, signal);
}

/** What is wrong with an answer, or null. */
function answerProblem(url: string, kind: Kind, response: Response): OpError | null {
  const { ok, status, statusText } = response;
  const type = response.headers.get('content-type') ?? '';
  // Some servers answer with a page whatever is asked for.
  const isPage = kind !== 'file' && type.startsWith('text/html');
  if (ok && !isPage) return null;
  const text = `${url}: the server answered ${status} ${statusText}`.trim();
  if (kind !== 'file' && (isPage || status === 404 || status === 410)) {
    const what = kind === 'manifest' ? "a bundle's manifest" : 'an archive of a bundle';
    return new NotFoundError(`${text}${isPage ? ' with a page' : ''}; expected ${what}`);
  }
  if (status === 401 || status === 403) {
    return new PermissionDeniedError(`${text}; sign in, or make the bundle open to everybody`);
  }
  return new BundleError(
    status >= 500 || status === 429
      ? `${text}; try again later`
      : `${text}; the bundle is incomplete: copy it again`,
  );
}

async function received(
  url: string,
  body: ReadableStream<Uint8Array>,
  { kind, size, limit }: { readonly kind: Kind; readonly size: number; readonly limit: number },
  report: (loaded: number, total: number) => void,
  signal: AbortSignal,
): Promise<Uint8Array> {
  let data: Uint8Array = new Uint8Array();
  let loaded = 0;
  const reader = body.getReader();
  try {
    data = allocated(size, url);
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (loaded + value.length > limit) {
        throw new BundleError(
          `${url}: more than ${limit} bytes came, expected at most that; it was replaced: open ` +
            'the bundle again',
        );
      }
      if (loaded + value.length > data.length) {
        const more = allocated(2 * (loaded + value.length), url);
        more.set(data.subarray(0, loaded));
        data = more;
      }
      data.set(value, loaded);
      const isMark = kind === 'archive' && loaded < MARK_SIZE;
      loaded += value.length;
      // Whatever else it is, it need not come as a whole.
      if (isMark && loaded >= MARK_SIZE && !isArchive(data)) throw noArchive(url);
      report(loaded, Math.max(size, loaded));
    }
    if (kind === 'archive' && loaded < MARK_SIZE) throw noArchive(url, `its ${loaded} bytes are`);
  } catch (error) {
    void reader.cancel().catch(() => undefined);
    signal.throwIfAborted();
    if (error instanceof OpError) throw error;
    throw new BundleError(`${url}: the download broke off (${reason(error)}); try again`);
  }
  return data.subarray(0, loaded);
}

function allocated(size: number, url: string): Uint8Array {
  try {
    return new Uint8Array(size);
  } catch (error) {
    throw new ResourceExhaustedError(`${url}: no memory for ${size} bytes (${reason(error)})`);
  }
}

/** Where a bundle is: its folder's address, that of an archive, or the bytes of one. */
export type Place = string | URL | ArchiveBytes;

/**
 * The files of a bundle. An address whose path ends in `.tfx` or `.zip` is that of an archive.
 *
 * @throws NotFoundError there is no such archive.
 * @throws BundleError it breaks a rule of archives.
 */
export async function filesAt(
  place: Place,
  options: FetchOptions & { readonly verify?: boolean },
): Promise<FetchedFiles | ArchiveInMemory> {
  const hashes = { later: sha256, now: portableSha256, areQuick: Boolean(subtle) };
  if (isBytes(place)) return ArchiveInMemory.open(place, nameOf(place), hashes, options);
  const { href, pathname } = new URL(place, globalThis.location.href);
  if (!/\.(tfx|zip)$/i.test(pathname)) return new FetchedFiles(place, options);
  const report = (loaded: number, total: number): void =>
    options.onProgress?.({ file: pathname.slice(pathname.lastIndexOf('/') + 1), loaded, total });
  const signal = options.signal ?? new AbortController().signal;
  // As a whole: most of it are weights, and parts that are asked for one by one may be of two versions.
  const cache = options.cache === false ? 'no-store' : 'no-cache';
  const data = await download(href, 'archive', Infinity, report, signal, cache);
  return ArchiveInMemory.open(data, href, hashes, { ...options, isOwn: true });
}

/** Bytes in hexadecimal. */
export function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
