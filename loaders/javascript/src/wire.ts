/**
 * Walking protobuf messages field by field.
 *
 * The reader of the protobuf library does the decoding; this adds the fields' places in the bytes,
 * which copying a message but for some fields needs, and turns its exceptions into one kind.
 */

import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

import { reason } from './errors.js';

/** The bytes are no protobuf message, or not the expected one. */
export class WireError extends Error {}

/** One field of a message. */
export class Field {
  constructor(
    readonly number: number,
    /** Where the field begins, its tag included, and where it ends. */
    readonly start: number,
    readonly end: number,
    private readonly wire: WireType,
    private readonly content: Uint8Array | bigint | number,
  ) {}

  /** The content of a length-delimited field. */
  bytes(): Uint8Array {
    if (this.wire !== WireType.LengthDelimited) {
      throw new WireError(`field ${this.number} is a number, expected bytes`);
    }
    return this.content as Uint8Array;
  }

  /** A string. */
  text(): string {
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(this.bytes());
    } catch (error) {
      throw new WireError(`field ${this.number} is not UTF-8 (${reason(error)})`);
    }
  }

  /** An unsigned number; one that JavaScript cannot hold exactly is refused. */
  number53(): number {
    const value = this.big();
    if (value > Number.MAX_SAFE_INTEGER) {
      throw new WireError(`field ${this.number} is ${value}, which is too great`);
    }
    return Number(value);
  }

  /** An unsigned 64-bit number. */
  big(): bigint {
    if (this.wire !== WireType.Varint) {
      throw new WireError(`field ${this.number} is not a whole number`);
    }
    return this.content as bigint;
  }

  /** A floating-point number. */
  double(): number {
    if (this.wire !== WireType.Bit64) {
      throw new WireError(`field ${this.number} is not a floating-point number`);
    }
    return this.content as number;
  }

  /** 32-bit numbers that may be packed into one field or be one each. */
  fixed32s(): number[] {
    if (this.wire === WireType.Bit32) return [this.content as number];
    return this.packed((reader) => reader.fixed32());
  }

  /** Numbers that may be packed into one field or be one each. */
  numbers(): bigint[] {
    if (this.wire === WireType.Varint) return [this.big()];
    return this.packed(varint);
  }

  private packed<T>(read: (reader: BinaryReader) => T): T[] {
    const found: T[] = [];
    walk(this.bytes(), (reader) => found.push(read(reader)));
    return found;
  }
}

/** Read until the bytes end. */
function walk(data: Uint8Array, read: (reader: BinaryReader) => unknown): void {
  const reader = new BinaryReader(data);
  try {
    while (reader.pos < reader.len) read(reader);
  } catch (error) {
    throw error instanceof WireError ? error : new WireError(reason(error));
  }
}

function varint(reader: BinaryReader): bigint {
  return BigInt(reader.uint64());
}

/** The fields of a message, in order. */
export function fields(data: Uint8Array): Field[] {
  const found: Field[] = [];
  walk(data, (reader) => {
    const start = reader.pos;
    const [number, wire] = reader.tag();
    const content = read(reader, wire, data);
    found.push(new Field(number, start, reader.pos, wire, content));
  });
  return found;
}

function read(
  reader: BinaryReader,
  wire: WireType,
  data: Uint8Array,
): Uint8Array | bigint | number {
  switch (wire) {
    case WireType.Varint:
      return varint(reader);
    case WireType.Bit64:
      return reader.double();
    case WireType.Bit32:
      return reader.fixed32();
    case WireType.LengthDelimited: {
      // Not bytes(), which takes a length of more than 32 bits for a small one.
      const size = Number(reader.uint64());
      const begin = reader.pos;
      if (size > reader.len - begin) throw new WireError('it ends in the middle of a field');
      reader.pos += size;
      return data.subarray(begin, begin + size);
    }
    default:
      throw new WireError(`it has a field of wire type ${wire}`);
  }
}

// Written are a few bytes before what is copied; the library's writer would add a kilobyte to the
// web entry.

function varintBytes(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
}

function tag(number: number, wire: WireType): number[] {
  return varintBytes(8 * number + wire);
}

/** A length-delimited field as bytes. */
export function bytesField(number: number, content: Uint8Array): Uint8Array {
  const head = [...tag(number, WireType.LengthDelimited), ...varintBytes(content.length)];
  return joined(Uint8Array.from(head), content);
}

/** A text field as bytes. */
export function textField(number: number, content: string): Uint8Array {
  return bytesField(number, new TextEncoder().encode(content));
}

/** A number as a field of bytes. */
export function numberField(number: number, value: number): Uint8Array {
  return Uint8Array.from([...tag(number, WireType.Varint), ...varintBytes(value)]);
}

/** 32-bit numbers as one packed field of bytes. */
export function fixed32sField(number: number, values: readonly number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(4 * values.length));
  values.forEach((value, i) => {
    view.setUint32(4 * i, value, true);
  });
  return bytesField(number, new Uint8Array(view.buffer));
}

/** Several pieces as one. */
export function joined(...parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let position = 0;
  for (const part of parts) {
    whole.set(part, position);
    position += part.length;
  }
  return whole;
}
