/**
 * Bundles in a browser, over onnxruntime-web, from any static server.
 *
 * @example
 * import * as ort from './ort.min.mjs';
 * import { Bundle } from './tfx-web.js';
 *
 * const bundle = await Bundle.open('digits_bundle/', { ort, onProgress: console.log });
 * const { logits } = await bundle.call('serving_default', { image });
 */

import { sha256 as portableSha256 } from '@noble/hashes/sha2.js';
import { zipSync } from 'fflate';
import type * as Ort from 'onnxruntime-web';

import { Bundle as CoreBundle, type OpenOptions } from './core.js';
import type { Data, DType } from './dtypes.js';
import { BundleError, NotFoundError, reason, ResourceExhaustedError } from './errors.js';
import { MAX_MANIFEST_BYTES } from './limits.js';
import type { FileEntry } from './manifest.js';
import { checkPath } from './paths.js';
import type {
  CompileOptions,
  Files,
  Platform,
  Runtime,
  RuntimeSession,
  RuntimeTensor,
} from './platform.js';
import { hex } from './saving.js';
import { MANIFEST, Sources } from './sources.js';
import { deleteRecord, getRecord, listRecords, putRecord } from './storage.js';

export * from './core.js';

/** How far a download is, in bytes. */
export interface Progress {
  readonly file: string;
  readonly loaded: number;
  readonly total: number;
}

/** How a bundle is opened in a browser. */
export interface WebOpenOptions extends OpenOptions {
  /** The module onnxruntime-web; left out, it is imported by that name (an import map will do). */
  readonly ort?: typeof Ort;
  /** Called while weights are downloaded, with the sum over all of their files. */
  readonly onProgress?: (progress: Progress) => void;
  /** Keep graphs and weights in the browser's cache, by their hashes (the default). */
  readonly cache?: boolean;
  /** Options of the sessions, such as `executionProviders: ['webgpu', 'wasm']`. */
  readonly session?: Ort.InferenceSession.SessionOptions;
}

/** An open bundle in a browser. */
export class Bundle extends CoreBundle {
  /**
   * Open a bundle: download its manifest and weights. Graphs are downloaded when needed.
   *
   * @param url The bundle's folder.
   * @throws NotFoundError there is no bundle.
   * @throws BundleError it is damaged.
   * @throws UnsupportedVersionError it is newer than this program.
   */
  static async open(url: string | URL, options: WebOpenOptions = {}): Promise<Bundle> {
    const ort = options.ort ?? (await import('onnxruntime-web'));
    const platform: Platform = {
      files: new FetchedFiles(url, options),
      runtime: new WebRuntime(ort, options.session ?? {}),
      sha256,
    };
    return new Bundle(await Sources.open(platform, options.verify ?? false), options);
  }

  /** The bundle with the variables as they are now, as a ZIP file that holds its folder. */
  async zip(name = 'bundle'): Promise<Blob> {
    const files = await this.files();
    const table = Object.fromEntries([...files].map(([file, data]) => [`${name}/${file}`, data]));
    return new Blob([zipSync(table, { level: 0 })], { type: 'application/zip' });
  }

  /** Keep the variables in the browser (IndexedDB) under a name. */
  async saveCheckpoint(name: string): Promise<void> {
    await putRecord(this.key(name), await this.checkpoint());
  }

  /**
   * Give variables the values that were kept under a name.
   *
   * @returns Names of the variables that it has no value for.
   */
  async restore(name: string): Promise<string[]> {
    const data = await getRecord(this.key(name));
    if (!data) {
      throw new NotFoundError(
        `no checkpoint ${JSON.stringify(name)} of ${this.path} in this browser; it has ` +
          JSON.stringify(await this.checkpoints()),
      );
    }
    return this.restoreFrom(data);
  }

  /** Names of the checkpoints of this bundle that the browser keeps. */
  async checkpoints(): Promise<string[]> {
    const prefix = this.key('');
    const keys = await listRecords();
    return keys.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
  }

  async deleteCheckpoint(name: string): Promise<void> {
    await deleteRecord(this.key(name));
  }

  private key(name: string): string {
    return `${this.path} ${name}`;
  }
}

async function sha256(data: Uint8Array): Promise<Uint8Array> {
  // Browsers offer theirs on secure pages only.
  const subtle = (globalThis.crypto as Crypto | undefined)?.subtle;
  if (!subtle) return portableSha256(data);
  return new Uint8Array(await subtle.digest('SHA-256', data as BufferSource));
}

/** The files below an address. */
class FetchedFiles implements Files {
  readonly where: string;
  private readonly base: URL;
  private readonly held = new Map<string, Uint8Array>();
  private readonly hashes = new Map<string, string>();
  private readonly waiting = new Map<string, Promise<Uint8Array>>();

  constructor(
    url: string | URL,
    private readonly options: WebOpenOptions,
  ) {
    const base = new URL(url, globalThis.location.href);
    if (!base.pathname.endsWith('/')) base.pathname += '/';
    this.base = base;
    this.where = base.href.slice(0, -1);
  }

  async prefetch(entries: readonly FileEntry[]): Promise<void> {
    for (const { path, sha256: hash } of entries) this.hashes.set(path, hex(hash));
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
    await Promise.all(work);
  }

  size(path: string): Promise<number | null> {
    return Promise.resolve(this.held.get(path)?.length ?? null);
  }

  async read(path: string): Promise<Uint8Array> {
    const known = this.held.get(path) ?? this.waiting.get(path);
    if (known) return known;
    const limit = path === MANIFEST ? MAX_MANIFEST_BYTES : Number.MAX_SAFE_INTEGER;
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
    return sha256(await this.read(path));
  }

  isUnchanged(): Promise<boolean> {
    return Promise.resolve(true); // what was downloaded is what is used
  }

  close(): Promise<void> {
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
        report(data.length);
        return data;
      }
    }
    const data = await this.download(url, path, limit, report);
    if (cache && hex(await sha256(data)) === hash) {
      for (const old of await cache.keys(url, { ignoreSearch: true })) await cache.delete(old);
      // A full cache is no reason to fail.
      await cache.put(key, new Response(data as BodyInit)).catch(() => undefined);
    }
    return data;
  }

  private async cache(): Promise<Cache | null> {
    const caches = globalThis.caches as CacheStorage | undefined; // secure pages only
    if (!caches || this.options.cache === false) return null;
    return caches.open('tfx-bundles').catch(() => null);
  }

  private async download(
    url: string,
    path: string,
    limit: number,
    report: (loaded: number) => void,
  ): Promise<Uint8Array> {
    let response: Response;
    try {
      // The manifest is what says whether other files changed: always ask the server for it.
      response = await fetch(url, path === MANIFEST ? { cache: 'no-cache' } : {});
    } catch (error) {
      throw new BundleError(`${url}: cannot be downloaded (${reason(error)}); try again`);
    }
    if (!response.ok || !response.body) {
      const text = `${url}: the server answered ${response.status} ${response.statusText}`.trim();
      if (path === MANIFEST) throw new NotFoundError(`${text}; expected a bundle's manifest`);
      throw new BundleError(`${text}; the bundle is incomplete: copy it again`);
    }
    const parts: Uint8Array[] = [];
    let loaded = 0;
    const reader = response.body.getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        parts.push(value);
        loaded += value.length;
        if (loaded > limit) {
          throw new BundleError(
            `${url}: more than ${limit} bytes came, expected at most that; it was replaced: open ` +
              'the bundle again',
          );
        }
        report(loaded);
      }
    } catch (error) {
      void reader.cancel().catch(() => undefined);
      if (error instanceof BundleError) throw error;
      throw new BundleError(`${url}: the download broke off (${reason(error)}); try again`);
    }
    return concatenated(parts, loaded, url);
  }
}

function concatenated(parts: readonly Uint8Array[], size: number, url: string): Uint8Array {
  let whole: Uint8Array;
  try {
    whole = new Uint8Array(size);
  } catch (error) {
    throw new ResourceExhaustedError(`${url}: no memory for ${size} bytes (${reason(error)})`);
  }
  let position = 0;
  for (const part of parts) {
    whole.set(part, position);
    position += part.length;
  }
  return whole;
}

class WebRuntime implements Runtime {
  /** Runs take turns: onnxruntime-web runs one at a time. */
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly ort: typeof Ort,
    private readonly options: Ort.InferenceSession.SessionOptions,
  ) {}

  tensor(dtype: DType, data: Data, shape: readonly number[]): RuntimeTensor {
    return new this.ort.Tensor(dtype as 'float32', data as Float32Array, shape);
  }

  async compile(
    model: Uint8Array,
    { external, folds, read }: CompileOptions,
  ): Promise<RuntimeSession> {
    const extra: Record<string, unknown> = { ...this.options.extra };
    if (!folds) {
      const optimization = { ...(extra['optimization'] as object | undefined) };
      extra['optimization'] = { ...optimization, disable_specified_optimizers: 'ConstantFolding' };
    }
    const externalData = [...external.keys()].map((path) => ({ path, data: read(path) }));
    const made = await this.inTurn(() =>
      this.ort.InferenceSession.create(model, {
        logSeverityLevel: 4,
        ...this.options,
        extra,
        ...(externalData.length ? { externalData } : {}),
      }),
    );
    return {
      run: async (feeds, fetches) => {
        const found = await this.inTurn(() =>
          made.run(feeds as Record<string, Ort.Tensor>, [...fetches]),
        );
        for (const name of fetches) {
          // WebGPU leaves results where they were made.
          await (found[name] as Ort.Tensor).getData(true);
        }
        return Object.fromEntries(fetches.map((name) => [name, plain(found[name] as Ort.Tensor)]));
      },
      release: () => made.release(),
    };
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => undefined);
    return done;
  }
}

/** A tensor whose halves are bits, also where the browser has an array of them. */
function plain({ type, data, dims }: Ort.Tensor): RuntimeTensor {
  if (type !== 'float16' || data instanceof Uint16Array) return { type, data, dims };
  const { buffer, byteOffset, length } = data as unknown as Uint16Array;
  return { type, data: new Uint16Array(buffer, byteOffset, length), dims };
}
