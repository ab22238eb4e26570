/**
 * Bundles in Node, over onnxruntime-node.
 *
 * @example
 * import { Bundle } from 'tfx-onnx';
 *
 * const bundle = await Bundle.open('line');
 * console.log(String(bundle.signatures.train_step));
 * for (let i = 0; i < 200; i++) await bundle.call('train_step', { x: [0, 1, 2], y: [1, 4, 7] });
 * console.log((await bundle.call('serving_default', { x: [5] })).y.toArray());
 * await bundle.save('line_trained');
 * await bundle.close();
 */

import { createHash, randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';

import * as ort from 'onnxruntime-node';

import { Bundle as CoreBundle, type OpenOptions } from './core.js';
import type { Data, DType } from './dtypes.js';
import {
  AlreadyExistsError,
  BundleError,
  NotFoundError,
  reason,
  ResourceExhaustedError,
  UnimplementedError,
} from './errors.js';
import { checkPath } from './paths.js';
import type {
  CompileOptions,
  Files,
  Platform,
  Runtime,
  RuntimeSession,
  RuntimeTensor,
} from './platform.js';
import { MANIFEST, Sources } from './sources.js';

export * from './core.js';

const CHUNK = 1 << 20;

/** How a bundle is opened in Node. */
export interface NodeOpenOptions extends OpenOptions {
  /** Options of onnxruntime-node's sessions, such as `intraOpNumThreads` and `executionProviders`. */
  readonly session?: ort.InferenceSession.SessionOptions;
}

/** An open bundle on disk. */
export class Bundle extends CoreBundle {
  /**
   * Open a bundle: read its manifest and check its files. Graphs and weights wait until needed.
   *
   * @param folder The bundle's folder.
   * @throws NotFoundError there is no such folder.
   * @throws BundleError it is no bundle, or is damaged.
   * @throws UnsupportedVersionError it is newer than this program.
   */
  static async open(folder: string, options: NodeOpenOptions = {}): Promise<Bundle> {
    const files = new FolderFiles(path.resolve(folder));
    const runtime = new NodeRuntime(files.where, options.session ?? {});
    const platform: Platform = { files, runtime, sha256: (data) => Promise.resolve(sha256(data)) };
    try {
      return new Bundle(await Sources.open(platform, options.verify ?? false), options);
    } catch (error) {
      await files.close();
      throw error;
    }
  }

  /**
   * Write the bundle with the variables as they are now: all of it, or nothing.
   *
   * @param folder The folder to make; a bundle that is there is replaced, also this one.
   * @throws AlreadyExistsError there is something there which is no bundle.
   * @throws FailedPreconditionError a graph would no longer fit the new variables.
   */
  async save(folder: string): Promise<void> {
    const target = path.resolve(folder);
    if (fs.existsSync(target) && !fs.existsSync(path.join(target, MANIFEST))) {
      throw new AlreadyExistsError(`${target} exists and is no bundle; save to another path`);
    }
    writeFolder(target, await this.files());
  }

  /**
   * Give variables the values that a checkpoint has for them.
   *
   * @param file A `.safetensors` file, or its path without that ending.
   * @returns Names of the variables that it has no value for.
   */
  async restore(file: string): Promise<string[]> {
    const name = fs.existsSync(file) ? file : `${file}.safetensors`;
    if (!fs.existsSync(name)) {
      if (fs.existsSync(`${name}.index.json`)) {
        throw new UnimplementedError(
          `${file}: a checkpoint of several files, which only Python restores; save one below 4 GiB`,
        );
      }
      throw new NotFoundError(`${file}: no such checkpoint`);
    }
    return this.restoreFrom(fs.readFileSync(name));
  }

  /** Write the variables as a checkpoint, `PREFIX.safetensors`; an old one is replaced at once. */
  async saveCheckpoint(prefix: string): Promise<string> {
    const target = path.resolve(prefix.endsWith('.safetensors') ? prefix : `${prefix}.safetensors`);
    fs.mkdirSync(path.dirname(target), { recursive: true });
    const temporary = `${target}.${randomBytes(6).toString('hex')}.tmp`;
    try {
      writeDurably(temporary, await this.checkpoint());
      fs.renameSync(temporary, target);
    } catch (error) {
      fs.rmSync(temporary, { force: true });
      throw writeError(target, error);
    }
    return target;
  }
}

function sha256(data: Uint8Array): Uint8Array {
  return createHash('sha256').update(data).digest();
}

/** The files of a folder. */
class FolderFiles implements Files {
  private readonly open = new Map<string, number>();
  private readonly seen = new Map<string, string>();
  private readonly root: string;

  constructor(readonly where: string) {
    let isFolder = false;
    try {
      isFolder = fs.statSync(where).isDirectory();
    } catch {
      // said below
    }
    if (!isFolder) throw new NotFoundError(`${where}: no such folder, expected a saved bundle`);
    if (!fs.existsSync(path.join(where, MANIFEST))) {
      const hint = fs.existsSync(path.join(where, 'saved_model.pb'))
        ? 'it is a TensorFlow SavedModel'
        : 'it is not a bundle, or its save was never finished';
      throw new BundleError(`${where} has no ${MANIFEST}: ${hint}`);
    }
    this.root = fs.realpathSync(where);
  }

  prefetch(): Promise<void> {
    return Promise.resolve();
  }

  size(file: string): Promise<number> {
    return Promise.resolve(fs.fstatSync(this.descriptor(file)).size);
  }

  read(file: string, limit: number): Promise<Uint8Array> {
    const { size } = fs.fstatSync(this.descriptor(file));
    if (size > limit) {
      throw new BundleError(
        `${this.where}/${file}: it has ${size} bytes, expected at most ${limit}; it is damaged or ` +
          'was replaced: copy or save the bundle again',
      );
    }
    return Promise.resolve(this.readRange(file, 0, size));
  }

  readRange(file: string, offset: number, length: number): Uint8Array {
    const descriptor = this.descriptor(file);
    const data = new Uint8Array(length);
    let done = 0;
    while (done < length) {
      const count = fs.readSync(descriptor, data, done, length - done, offset + done);
      if (!count) throw new BundleError(`${this.where}/${file}: it ends early, it was truncated`);
      done += count;
    }
    return data;
  }

  hash(file: string): Promise<Uint8Array> {
    const descriptor = this.descriptor(file);
    const digest = createHash('sha256');
    const buffer = Buffer.allocUnsafe(CHUNK);
    for (let at = 0, count = 1; count; at += count) {
      count = fs.readSync(descriptor, buffer, 0, CHUNK, at);
      digest.update(buffer.subarray(0, count));
    }
    return Promise.resolve(digest.digest());
  }

  isUnchanged(file: string): Promise<boolean> {
    this.descriptor(file);
    return Promise.resolve(this.identity(file) === this.seen.get(file));
  }

  close(): Promise<void> {
    for (const descriptor of this.open.values()) fs.closeSync(descriptor);
    this.open.clear();
    return Promise.resolve();
  }

  /** A file that was opened once is read from then on, whatever takes its name. */
  private descriptor(file: string): number {
    const known = this.open.get(file);
    if (known !== undefined) return known;
    if (file !== MANIFEST) checkPath(file, this.where);
    const full = path.join(this.where, file);
    let descriptor: number;
    try {
      const real = fs.realpathSync(full);
      if (!real.startsWith(this.root + path.sep)) {
        throw new BundleError(
          `${full}: a link that leads out of the bundle; expected a plain file`,
        );
      }
      // A pipe without a writer must not be waited for.
      descriptor = fs.openSync(real, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    } catch (error) {
      if (error instanceof BundleError) throw error;
      throw new BundleError(
        `${full}: ${reason(error)}; the bundle is incomplete: copy or save it again`,
      );
    }
    if (!fs.fstatSync(descriptor).isFile()) {
      fs.closeSync(descriptor);
      throw new BundleError(`${full}: not a plain file; copy or save the bundle again`);
    }
    this.open.set(file, descriptor);
    this.seen.set(file, this.identity(file));
    return descriptor;
  }

  private identity(file: string): string {
    try {
      const s = fs.statSync(path.join(this.where, file), { bigint: true });
      return `${s.dev} ${s.ino} ${s.size} ${s.mtimeNs}`;
    } catch {
      return 'gone';
    }
  }
}

class NodeRuntime implements Runtime {
  constructor(
    private readonly folder: string,
    private readonly options: ort.InferenceSession.SessionOptions,
  ) {}

  tensor(dtype: DType, data: Data, shape: readonly number[]): RuntimeTensor {
    return new ort.Tensor(dtype as 'float32', data as Float32Array, shape);
  }

  async compile(model: Uint8Array, { external, folds }: CompileOptions): Promise<RuntimeSession> {
    const extra: Record<string, unknown> = { ...this.options.extra };
    const session: Record<string, unknown> = { ...(extra['session'] as object | undefined) };
    // Weights are mapped from the files, and not copied through JavaScript.
    if (external.size) session['model_external_initializers_file_folder_path'] = this.folder;
    if (!folds) {
      const optimization = { ...(extra['optimization'] as object | undefined) };
      extra['optimization'] = { ...optimization, disable_specified_optimizers: 'ConstantFolding' };
    }
    const made = await ort.InferenceSession.create(model, {
      logSeverityLevel: 4,
      ...this.options,
      extra: { ...extra, session },
    });
    return {
      run: (feeds, fetches) => made.run(feeds as Record<string, ort.Tensor>, [...fetches]),
      release: () => made.release(),
    };
  }
}

/** Write a folder beside the target, and exchange the two when everything is on disk. */
function writeFolder(target: string, files: ReadonlyMap<string, Uint8Array>): void {
  const parent = path.dirname(target);
  const mark = randomBytes(6).toString('hex');
  const beside = (what: string) => path.join(parent, `.${path.basename(target)}.${what}-${mark}`);
  const fresh = beside('tfx-writing');
  const aside = beside('tfx-aside');
  try {
    fs.mkdirSync(fresh, { recursive: true });
    for (const [file, data] of files) {
      const full = path.join(fresh, file);
      fs.mkdirSync(path.dirname(full), { recursive: true });
      writeDurably(full, data);
    }
    const isThere = fs.existsSync(target);
    if (isThere) fs.renameSync(target, aside);
    try {
      fs.renameSync(fresh, target);
    } catch (error) {
      if (isThere) fs.renameSync(aside, target);
      throw error;
    }
  } catch (error) {
    fs.rmSync(fresh, { recursive: true, force: true });
    throw writeError(target, error);
  }
  fs.rmSync(aside, { recursive: true, force: true });
}

function writeDurably(file: string, data: Uint8Array): void {
  const descriptor = fs.openSync(file, 'wx');
  try {
    for (let done = 0; done < data.length;) {
      done += fs.writeSync(descriptor, data, done, Math.min(CHUNK * 256, data.length - done));
    }
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

function writeError(target: string, error: unknown): Error {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new ResourceExhaustedError(`${target}: the disk is full; nothing was changed`);
  }
  return error instanceof Error ? error : new Error(reason(error));
}
