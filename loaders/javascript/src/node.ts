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

import { createHash } from 'node:crypto';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import * as zlib from 'node:zlib';

import * as ort from 'onnxruntime-node';

import { ArchiveOnDisk } from './archive_disk.js';
import { type ArchiveBytes, ArchiveInMemory, isBytes, nameOf } from './archive_memory.js';
import { checkpointFiles, openFiles, writeCheckpoint } from './checkpoint_files.js';
import { type Crc32, portableCrc32 } from './checksums.js';
import { Bundle as CoreBundle, type OpenOptions } from './core.js';
import type { Data, DType } from './dtypes.js';
import { InvalidArgumentError } from './errors.js';
import { FolderFiles, NewFolder } from './folder.js';
import { OnnxFile } from './onnx_file.js';
import { pathProblem } from './paths.js';
import type {
  CompileOptions,
  Platform,
  Runtime,
  RuntimeSession,
  RuntimeTensor,
} from './platform.js';
import { Sources } from './sources.js';

export * from './core.js';

/** How a bundle is opened in Node. */
export interface NodeOpenOptions extends OpenOptions {
  /** Options of onnxruntime-node's sessions, such as `intraOpNumThreads` and `executionProviders`. */
  readonly session?: ort.InferenceSession.SessionOptions;
  /** Bytes of tensors in one file of a checkpoint that is saved; about 4 GiB. */
  readonly maxShardBytes?: number;
}

/** Bytes of tensors in one file of a checkpoint. */
const MOST = 4 * 2 ** 30 - 2 ** 27; // with its header it is below what one array holds

/** Where content begins in archives from which it can be mapped; see SPEC.md, section 2.1. */
const ALIGNMENT = 64;

/** An open bundle: of a folder, or of an archive. */
export class Bundle extends CoreBundle {
  private constructor(
    sources: Sources,
    private place: string | ArchiveBytes,
    private readonly nodeOptions: NodeOpenOptions,
  ) {
    super(sources, nodeOptions);
  }

  /**
   * Open a bundle: read its manifest and check its files. Graphs and weights wait until needed.
   *
   * @param place The bundle's folder, or an archive of it (what `tfx convert` makes), as a path or a
   *   `file:` URL; or the bytes of an archive.
   * @throws NotFoundError there is no such folder or archive.
   * @throws BundleError it is no bundle, or is damaged.
   * @throws UnsupportedVersionError it is newer than this program.
   * @throws PermissionDeniedError it may not be read.
   */
  static async open(
    place: string | URL | ArchiveBytes,
    options: NodeOpenOptions = {},
  ): Promise<Bundle> {
    const from = isBytes(place) ? place : placeOf(place);
    const on = await platform(from, options);
    try {
      return new Bundle(await Sources.open(on, options.verify), from, options);
    } catch (error) {
      await on.files.close();
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
   * @param place The other version, as for `open`; left out, what is at the bundle's own path now.
   * @throws FailedPreconditionError it differs in more than the values of variables.
   */
  async reload(place: string | URL | ArchiveBytes = this.place): Promise<void> {
    const from = isBytes(place) ? place : placeOf(place);
    await this.reloadFrom(() => platform(from, this.nodeOptions));
    this.place = from;
  }

  /** As for every bundle; bytes that it was opened from go, too. */
  override async close(): Promise<void> {
    await super.close();
    this.place = this.path;
  }

  /**
   * Write the bundle with the variables as they are now: all of it, or nothing. Other files in the
   * folder are kept.
   *
   * @param folder The folder to make; a bundle that is there is replaced, also this one. Archives are
   *   made by `tfx convert`.
   * @throws AlreadyExistsError there is a file, or a folder which is no bundle.
   * @throws FailedPreconditionError a graph would no longer fit the new variables.
   * @throws AbortedError another save to the folder has ended since this one began.
   * @throws PermissionDeniedError the folder may not be written.
   * @throws ResourceExhaustedError the disk is full.
   */
  async save(folder: string | URL): Promise<void> {
    const target = new NewFolder(placeOf(folder));
    try {
      await this.eachFile((file, parts) => {
        target.write(file, parts);
      });
      target.finish();
    } finally {
      target.discard();
    }
  }

  /**
   * Give variables the values that a checkpoint has for them.
   *
   * @param file A `.safetensors` file, or its path without that ending; shards are found through
   *   their index.
   * @returns Names of the variables that it has no value for.
   * @throws NotFoundError there is no such checkpoint, or it has none of the variables.
   * @throws BundleError it is damaged.
   */
  async restore(file: string | URL): Promise<string[]> {
    const parts = openFiles(checkpointFiles(placeOf(file)));
    try {
      return await this.restoreParts(parts);
    } finally {
      for (const part of parts) part.close();
    }
  }

  /**
   * Write the variables as a checkpoint, `PREFIX.safetensors`, or shards with an index if it is too
   * large for one file; an old one is replaced at once.
   *
   * @returns The file, or the index.
   */
  async saveCheckpoint(prefix: string | URL): Promise<string> {
    const stem = placeOf(prefix).replace(/\.safetensors$/, '');
    const problem = pathProblem(path.basename(stem));
    if (problem !== null) {
      throw new InvalidArgumentError(
        `${stem}: ${problem}; expected a path such as "checkpoints/model"`,
      );
    }
    return writeCheckpoint(
      stem,
      await this.checkpointFiles(this.nodeOptions.maxShardBytes ?? MOST),
    );
  }
}

/** An absolute path of what was given as a path or a URL. */
function placeOf(place: string | URL): string {
  const text = String(place);
  if (/^https?:/i.test(text)) {
    throw new InvalidArgumentError(
      `${text}: an address, expected a path or a file: URL; an archive can be downloaded, and its ` +
        'bytes opened: Bundle.open(await (await fetch(address)).blob())',
    );
  }
  return path.resolve(text.startsWith('file:') ? fileURLToPath(text) : text);
}

// Node 20.15 and 22.2 brought it.
const crc32 = (zlib as { crc32?: Crc32 }).crc32 ?? portableCrc32;

async function platform(place: string | ArchiveBytes, options: NodeOpenOptions): Promise<Platform> {
  const files =
    typeof place !== 'string'
      ? await ArchiveInMemory.open(place, nameOf(place), HASHES, options)
      : (ArchiveOnDisk.open(place) ?? new FolderFiles(place));
  const runtime = new NodeRuntime(files, options.session ?? {});
  return { files, runtime, sha256, crc32: (data) => crc32(data) };
}

function sha256(...parts: readonly Uint8Array[]): Promise<Uint8Array> {
  const digest = createHash('sha256');
  for (const part of parts) digest.update(part);
  return Promise.resolve(digest.digest());
}

const HASHES = {
  later: sha256,
  now: (data: Uint8Array) => new Uint8Array(createHash('sha256').update(data).digest()),
  areQuick: false,
};

class NodeRuntime implements Runtime {
  constructor(
    private readonly files: FolderFiles | ArchiveOnDisk | ArchiveInMemory,
    private readonly options: ort.InferenceSession.SessionOptions,
  ) {}

  tensor(dtype: DType, data: Data, shape: readonly number[]): RuntimeTensor {
    return new ort.Tensor(dtype as 'float32', data as Float32Array, shape);
  }

  async compile(
    data: Uint8Array,
    { external, folds, read }: CompileOptions,
  ): Promise<RuntimeSession> {
    const extra: Record<string, unknown> = { ...this.options.extra };
    const session: Record<string, unknown> = { ...(extra['session'] as object | undefined) };
    const disabled = folds ? [] : ['ConstantFolding'];
    const { model, folder } = external.size
      ? this.mapped(data, [...external.keys()])
      : { model: data };
    // Weights are mapped from the files, and not copied through JavaScript.
    if (folder !== undefined) session['model_external_initializers_file_folder_path'] = folder;
    const given = folder === undefined ? [...external.keys()] : [];
    // It reads scalars from files also where they are given, and ends the session's creation.
    if (given.length) disabled.push('MatMulScaleFusion');
    if (disabled.length) {
      const optimization = { ...(extra['optimization'] as object | undefined) };
      const names = disabled.join(';');
      extra['optimization'] = { ...optimization, disable_specified_optimizers: names };
    }
    const made = await ort.InferenceSession.create(model, {
      logSeverityLevel: 4,
      ...this.options,
      ...(given.length
        ? { externalData: given.map((file) => ({ path: file, data: read(file) })) }
        : {}),
      extra: { ...extra, session },
    });
    return {
      run: (feeds, fetches) => made.run(feeds as Record<string, ort.Tensor>, [...fetches]),
      release: () => made.release(),
    };
  }

  /** The model with the folder from which its weights are mapped, if they can be. */
  private mapped(
    model: Uint8Array,
    used: readonly string[],
  ): { model: Uint8Array; folder?: string } {
    const { files } = this;
    if (files instanceof FolderFiles) return { model, folder: files.where };
    // Kernels expect numbers at multiples of their size.
    const fits = (file: string) =>
      files instanceof ArchiveOnDisk && files.begin(file) % ALIGNMENT === 0;
    if (!(files instanceof ArchiveOnDisk) || !used.every(fits)) return { model };
    const { folder, name } = files.place;
    const moved = new OnnxFile(model, files.where).withPlaces(({ location, offset, length }) => ({
      location: name,
      offset: files.begin(location) + offset,
      length,
    }));
    return { model: moved, folder };
  }
}
