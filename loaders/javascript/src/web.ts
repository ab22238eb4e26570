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

import type * as Ort from 'onnxruntime-web';

import { isBytes } from './archive_memory.js';
import { portableCrc32 } from './checksums.js';
import { Bundle as CoreBundle, type OpenOptions } from './core.js';
import type { Data, DType } from './dtypes.js';
import {
  InvalidArgumentError,
  NotFoundError,
  reason,
  ResourceExhaustedError,
  UnimplementedError,
} from './errors.js';
import { FetchedFiles, type FetchOptions, filesAt, hex, type Place, sha256 } from './fetched.js';
import { LACKS } from './plan.js';
import type {
  CompileOptions,
  Platform,
  Runtime,
  RuntimeSession,
  RuntimeTensor,
} from './platform.js';
import { Sources } from './sources.js';
import { deleteRecord, getRecord, listRecords, putRecord } from './storage.js';
import { zipParts } from './zip.js';

export * from './core.js';
export type { Progress } from './fetched.js';

/** How a bundle is opened in a browser. */
export interface WebOpenOptions extends OpenOptions, FetchOptions {
  /** The module onnxruntime-web; left out, it is imported by that name (an import map will do). */
  readonly ort?: typeof Ort;
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
    private place: Place,
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
   * Open a bundle: download its manifest and weights, and graphs when they are needed; or an archive
   * as a whole.
   *
   * @param place The address of the bundle's folder; that of an archive (what `tfx convert` makes), which
   *   ends in `.tfx` or `.zip`; or the bytes of an archive, such as a file that somebody has chosen.
   * @throws NotFoundError there is no bundle.
   * @throws BundleError it is damaged.
   * @throws UnsupportedVersionError it is newer than this program.
   * @throws UnimplementedError `device` is `'webgpu'`, and this browser has none.
   */
  static async open(place: Place, options: WebOpenOptions = {}): Promise<Bundle> {
    options.signal?.throwIfAborted();
    const device = await chosenDevice(options.device ?? 'wasm');
    const ort = options.ort ?? (await import('onnxruntime-web'));
    const runtime = new WebRuntime(ort, options, device);
    const from = absolute(place);
    const files = await filesAt(from, options);
    const platform: Platform = { files, runtime, sha256, crc32: portableCrc32 };
    try {
      const sources = await Sources.open(platform, options.verify);
      if (files instanceof FetchedFiles) files.isOpen = true;
      return new Bundle(sources, from, options, runtime);
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
   * @param place The other version, as for `open`; left out, what is at the bundle's own address now.
   * @throws FailedPreconditionError it differs in more than the values of variables.
   */
  async reload(place: Place = this.place): Promise<void> {
    const from = absolute(place);
    const { runtime } = this;
    await this.reloadFrom(async () => {
      // The signal was for the download of the first version.
      const files = await filesAt(from, { ...this.webOptions, signal: undefined });
      return { files, runtime, sha256, crc32: portableCrc32 };
    });
    this.place = from;
  }

  /** The bundle with the variables as they are now, as an archive that `open` takes. */
  async zip(name = 'bundle'): Promise<Blob> {
    const found = [...(await this.files())];
    // The manifest, which is saved last, comes first in archives.
    found.unshift(...found.splice(-1));
    const files = found.map(([f, data]) => [`${name}/${f}`, data] as const);
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

  /** Bytes go, too. */
  override async close(): Promise<void> {
    await super.close();
    this.place = this.path;
  }

  /** Bundles without an address are known by what is in them: their names say nothing. */
  private key(name: string): string {
    const { data } = this.sources.manifest;
    const owner = isBytes(this.place) ? `sha256:${hex(data.subarray(-32))}` : this.path;
    return `${owner} ${name}`;
  }
}

/** A place that stays the same when the page moves on. */
function absolute(place: Place): Place {
  return isBytes(place) ? place : new URL(place, globalThis.location.href);
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

/** With `env.wasm.proxy` the whole buffer of a model goes to another thread: it gets one of its own. */
function createOn(
  ort: typeof Ort,
  model: Uint8Array,
  options: Ort.InferenceSession.SessionOptions,
): Promise<Ort.InferenceSession> {
  return ort.InferenceSession.create(ort.env.wasm.proxy ? model.slice() : model, options);
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
        made = await createOn(this.ort, model, onWasm);
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
      return createOn(await fallback(), model, { ...options, executionProviders: ['wasm'] });
    }
  }

  private async createHere(
    model: Uint8Array,
    options: Ort.InferenceSession.SessionOptions,
  ): Promise<Ort.InferenceSession> {
    const on = (device: Device) =>
      createOn(this.ort, model, { executionProviders: [device], ...options });
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
