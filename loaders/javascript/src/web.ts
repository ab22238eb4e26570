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
import type * as Ort from 'onnxruntime-web';

import { portableCrc32 } from './checksums.js';
import { Bundle as CoreBundle, type OpenOptions } from './core.js';
import type { Data, DType } from './dtypes.js';
import {
  BundleError,
  InvalidArgumentError,
  NotFoundError,
  OpError,
  PermissionDeniedError,
  reason,
  ResourceExhaustedError,
  UnimplementedError,
} from './errors.js';
import type { FileEntry } from './manifest.js';
import { checkPath } from './paths.js';
import { LACKS } from './plan.js';
import type {
  CompileOptions,
  Files,
  Platform,
  Runtime,
  RuntimeSession,
  RuntimeTensor,
} from './platform.js';
import { MANIFEST, Sources } from './sources.js';
import { deleteRecord, getRecord, listRecords, putRecord } from './storage.js';
import { joined } from './wire.js';
import { zipParts } from './zip.js';

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
  /** Give the download up when this is aborted; `open` then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * Where graphs run: `'wasm'` (the default); `'webgpu'`, which fails where the browser has none;
   * `'auto'`, which takes WebGPU where there is one. WebGPU needs the build
   * `onnxruntime-web/webgpu`: others have none, or an older one that gives wrong numbers.
   */
  readonly device?: Device | 'auto';
  /**
   * A second build of onnxruntime-web, for graphs that the first cannot run on any device, such as
   * `() => import('onnxruntime-web/wasm')`: the build with WebGPU lacks some kernels of the others.
   * It is asked for when a graph needs it.
   */
  readonly fallback?: () => Promise<typeof Ort>;
  /** More options of the sessions; `executionProviders` in them come before `device`. */
  readonly session?: Ort.InferenceSession.SessionOptions;
}

/** What a bundle's graphs run on. Operators that WebGPU lacks run as WebAssembly. */
export type Device = 'wasm' | 'webgpu';

/** An open bundle in a browser. */
export class Bundle extends CoreBundle {
  private constructor(
    sources: Sources,
    private readonly webOptions: WebOpenOptions,
    private readonly runtime: WebRuntime,
  ) {
    super(sources, webOptions);
  }

  /** What graphs run on; a graph that WebGPU cannot take runs as WebAssembly nevertheless. */
  get device(): Device {
    return this.runtime.device;
  }

  /**
   * Open a bundle: download its manifest and weights. Graphs are downloaded when needed.
   *
   * @param url The bundle's folder.
   * @throws NotFoundError there is no bundle.
   * @throws BundleError it is damaged.
   * @throws UnsupportedVersionError it is newer than this program.
   * @throws UnimplementedError `device` is `'webgpu'`, and this browser has none.
   */
  static async open(url: string | URL, options: WebOpenOptions = {}): Promise<Bundle> {
    options.signal?.throwIfAborted();
    const device = await chosenDevice(options.device ?? 'wasm');
    const ort = options.ort ?? (await import('onnxruntime-web'));
    const runtime = new WebRuntime(ort, options, device);
    const files = new FetchedFiles(url, options);
    const platform: Platform = { files, runtime, sha256, crc32: portableCrc32 };
    try {
      const sources = await Sources.open(platform, options.verify);
      files.isOpen = true;
      return new Bundle(sources, options, runtime);
    } catch (error) {
      await files.close();
      throw error;
    }
  }

  /**
   * Take all variables from another version of the bundle; the sessions stay open.
   *
   * The other version has the same graphs: a later save of the same model. Calls that have begun end
   * with the variables that they began with, later ones see all of the new values. If anything is
   * wrong nothing changes.
   *
   * @param url The other version; left out, what is at the bundle's own address now.
   * @throws FailedPreconditionError it differs in more than the values of variables.
   */
  async reload(url: string | URL = this.path): Promise<void> {
    const files = new FetchedFiles(url, this.webOptions);
    files.isOpen = true; // the signal was for the download of the first version
    const { runtime } = this;
    await this.reloadFrom({ files, runtime, sha256, crc32: portableCrc32 });
  }

  /** The bundle with the variables as they are now, as a ZIP file that holds its folder. */
  async zip(name = 'bundle'): Promise<Blob> {
    const files = [...(await this.files())].map(([f, data]) => [`${name}/${f}`, data] as const);
    try {
      return new Blob(zipParts(files) as BlobPart[], { type: 'application/zip' });
    } catch (error) {
      throw new ResourceExhaustedError(`${this.path}: too large for a ZIP file (${reason(error)})`);
    }
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

async function chosenDevice(wanted: Device | 'auto'): Promise<Device> {
  if (wanted === 'wasm') return wanted;
  if ((wanted as unknown) !== 'webgpu' && (wanted as unknown) !== 'auto') {
    throw new InvalidArgumentError(
      `device is ${JSON.stringify(wanted)}, expected "wasm", "webgpu" or "auto"`,
    );
  }
  const gpu = (globalThis.navigator as { gpu?: { requestAdapter(): Promise<unknown> } }).gpu;
  const adapter = await gpu?.requestAdapter().catch(() => null);
  if (adapter) return 'webgpu';
  if (wanted === 'auto') return 'wasm';
  throw new UnimplementedError(
    gpu
      ? 'this browser has WebGPU, but no adapter for it on this machine; open with device "auto" or "wasm"'
      : 'this browser has no WebGPU, or the page is not secure (https or localhost); open with ' +
          'device "auto" or "wasm"',
  );
}

/** Browsers offer theirs on secure pages only. */
const subtle: SubtleCrypto | undefined = (globalThis.crypto as Crypto | undefined)?.subtle;

async function sha256(...parts: readonly Uint8Array[]): Promise<Uint8Array> {
  const data = parts.length === 1 ? (parts[0] as Uint8Array) : joined(...parts);
  if (!subtle) return portableSha256(data);
  return new Uint8Array(await subtle.digest('SHA-256', data as BufferSource));
}

/** The files below an address. */
class FetchedFiles implements Files {
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
    private readonly options: WebOpenOptions,
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
    const data = await this.download(url, path, limit, report);
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

  private async download(
    url: string,
    path: string,
    limit: number,
    report: (loaded: number) => void,
  ): Promise<Uint8Array> {
    const { signal } = this;
    let response: Response;
    try {
      // The manifest is what says whether other files changed: always ask the server for it.
      response = await fetch(url, path === MANIFEST ? { cache: 'no-cache', signal } : { signal });
    } catch (error) {
      signal.throwIfAborted();
      const hint =
        new URL(url).origin === globalThis.location.origin
          ? 'try again'
          : 'its server may not allow this page to read it: it must send Access-Control-Allow-Origin';
      throw new BundleError(`${url}: cannot be downloaded (${reason(error)}); ${hint}`);
    }
    const { status, body } = response;
    const type = response.headers.get('content-type') ?? '';
    // Some servers answer with a page whatever is asked for.
    const isPage = path === MANIFEST && type.startsWith('text/html');
    if (!response.ok || !body || isPage) {
      await body?.cancel();
      const text = `${url}: the server answered ${status} ${response.statusText}`.trim();
      if (path === MANIFEST && (isPage || status === 404 || status === 410)) {
        throw new NotFoundError(
          `${text}${isPage ? ' with a page' : ''}; expected a bundle's manifest`,
        );
      }
      if (status === 401 || status === 403) {
        throw new PermissionDeniedError(`${text}; sign in, or make the bundle open to everybody`);
      }
      throw new BundleError(
        status >= 500 || status === 429
          ? `${text}; try again later`
          : `${text}; the bundle is incomplete: copy it again`,
      );
    }
    // What the manifest says is taken at once, so that weights are in memory one time and not two.
    let data = allocated(path === MANIFEST ? 0 : limit, url);
    let loaded = 0;
    const reader = body.getReader();
    try {
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
        loaded += value.length;
        report(loaded);
      }
    } catch (error) {
      void reader.cancel().catch(() => undefined);
      signal.throwIfAborted();
      if (error instanceof OpError) throw error;
      throw new BundleError(`${url}: the download broke off (${reason(error)}); try again`);
    }
    return data.subarray(0, loaded);
  }
}

function allocated(size: number, url: string): Uint8Array {
  try {
    return new Uint8Array(size);
  } catch (error) {
    throw new ResourceExhaustedError(`${url}: no memory for ${size} bytes (${reason(error)})`);
  }
}

class WebRuntime implements Runtime {
  /** Runs take turns: onnxruntime-web runs one at a time. */
  private turn: Promise<unknown> = Promise.resolve();
  private readonly options: Ort.InferenceSession.SessionOptions;

  constructor(
    private readonly ort: typeof Ort,
    private readonly wanted: WebOpenOptions,
    public device: Device,
  ) {
    this.options = wanted.session ?? {};
  }

  tensor(dtype: DType, data: Data, shape: readonly number[]): RuntimeTensor {
    return new this.ort.Tensor(dtype as 'float32', data as Float32Array, shape);
  }

  async compile(
    model: Uint8Array,
    { external, folds, read }: CompileOptions,
  ): Promise<RuntimeSession> {
    const extra: Record<string, unknown> = { ...this.options.extra };
    const disabled = folds ? [] : ['ConstantFolding'];
    // It reads scalars from files, of which there are none here, and ends the session's creation.
    if (external.size) disabled.push('MatMulScaleFusion');
    if (disabled.length) {
      const optimization = { ...(extra['optimization'] as object | undefined) };
      const names = disabled.join(';');
      extra['optimization'] = { ...optimization, disable_specified_optimizers: names };
    }
    const externalData = [...external.keys()].map((path) => ({ path, data: read(path) }));
    const options = {
      logSeverityLevel: 4 as const,
      ...this.options,
      extra,
      ...(externalData.length ? { externalData } : {}),
    };
    const onWasm = { ...options, executionProviders: ['wasm'] };
    let made = await this.inTurn(() => this.create(model, options));
    let onGpu = this.device === 'webgpu';
    const run = async (feeds: Record<string, Ort.Tensor>, fetches: readonly string[]) => {
      try {
        return await made.run(feeds, [...fetches]);
      } catch (error) {
        // Some kernels of WebGPU say what they cannot do only when they run.
        if (!onGpu || !LACKS.test(reason(error))) throw error;
        onGpu = false;
        await made.release();
        made = await this.ort.InferenceSession.create(model, onWasm);
        return made.run(feeds, [...fetches]);
      }
    };
    return {
      run: async (feeds, fetches) => {
        const found = await this.inTurn(() => run(feeds as Record<string, Ort.Tensor>, fetches));
        for (const name of fetches) {
          const tensor = found[name] as Ort.Tensor;
          if (tensor.location !== 'cpu') await tensor.getData(true);
        }
        return found;
      },
      release: () => made.release(),
    };
  }

  private async create(
    model: Uint8Array,
    options: Ort.InferenceSession.SessionOptions,
  ): Promise<Ort.InferenceSession> {
    try {
      return await this.createHere(model, options);
    } catch (error) {
      const { fallback } = this.wanted;
      if (!fallback || !LACKS.test(reason(error))) throw error;
      const { InferenceSession } = await fallback();
      return InferenceSession.create(model, { ...options, executionProviders: ['wasm'] });
    }
  }

  private async createHere(
    model: Uint8Array,
    options: Ort.InferenceSession.SessionOptions,
  ): Promise<Ort.InferenceSession> {
    const on = (device: Device) =>
      this.ort.InferenceSession.create(model, { executionProviders: [device], ...options });
    if (this.device === 'wasm') return on('wasm');
    let problem: string;
    try {
      const made = await on('webgpu');
      // The older backend, which sets this, gives wrong numbers for some loops and for halves.
      if (!('adapter' in this.ort.env.webgpu)) return made;
      await made.release();
      problem = 'its WebGPU code is the old one, which gives wrong numbers for some graphs';
    } catch (error) {
      problem = reason(error);
      // Only this graph has something that WebGPU cannot do.
      if (!problem.includes('no available backend')) return on('wasm');
    }
    // Not asked for by name: WebAssembly will do.
    if (this.wanted.device !== 'auto') {
      throw new UnimplementedError(
        `this build of onnxruntime-web cannot be used with WebGPU (${problem}); import ` +
          'onnxruntime-web/webgpu, or open with device "auto" or "wasm"',
      );
    }
    this.device = 'wasm';
    return on('wasm');
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => undefined);
    return done;
  }
}

/** Bytes in hexadecimal. */
function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
