/** What the core needs of the place that it runs in: files, hashes and a runtime for graphs. */

import type { Crc32 } from './checksums.js';
import type { Data, DType } from './dtypes.js';
import type { External } from './onnx_file.js';
import type { FileEntry, Sha256 } from './manifest.js';

/** The files of one bundle. */
export interface Files {
  /** The bundle, for messages. */
  readonly where: string;
  /**
   * Be told what the manifest says.
   *
   * @param held Files to keep hold of: whatever takes their names later, they are what is read.
   */
  know(entries: readonly FileEntry[], held: ReadonlySet<string>): void;
  /**
   * Get files that are about to be read, all together.
   *
   * @returns Those whose hash has been compared with the manifest's on the way.
   */
  prefetch(entries: readonly FileEntry[]): Promise<ReadonlySet<string>>;
  /** How large a file is; null: nobody knows before it is read. */
  size(path: string): Promise<number | null>;
  /** A whole file, which must not have more bytes than `limit`. */
  read(path: string, limit: number): Promise<Uint8Array>;
  /** A part of a file that is held and was prefetched, at once. */
  readRange(path: string, offset: number, length: number): Uint8Array;
  /** The SHA-256 of a whole file. */
  hash(path: string): Promise<Uint8Array>;
  /** The SHA-256 of a whole file that is held and was prefetched, at once. */
  hashNow(path: string): Uint8Array;
  /** Whether the file is the one that was there when the bundle was opened. */
  isUnchanged(path: string): Promise<boolean>;
  /** Give everything back. */
  close(): Promise<void>;
}

/** A tensor of the runtime. */
export interface RuntimeTensor {
  readonly type: string;
  readonly data: unknown;
  readonly dims: readonly number[];
}

/** A compiled graph. */
export interface RuntimeSession {
  run(
    feeds: Record<string, RuntimeTensor>,
    fetches: readonly string[],
  ): Promise<Record<string, RuntimeTensor>>;
  release(): Promise<void>;
}

export interface CompileOptions {
  /** Where initializers are outside of the model, by file. */
  readonly external: ReadonlyMap<string, readonly External[]>;
  /** The whole of one of these files, for runtimes that cannot open it. */
  readonly read: (path: string) => Uint8Array;
  /** Whether constants may be folded. */
  readonly folds: boolean;
}

export interface Runtime {
  tensor(dtype: DType, data: Data, shape: readonly number[]): RuntimeTensor;
  compile(model: Uint8Array, options: CompileOptions): Promise<RuntimeSession>;
}

/** Everything together. */
export interface Platform {
  readonly files: Files;
  readonly runtime: Runtime;
  readonly sha256: Sha256;
  readonly crc32: Crc32;
}
