/**
 * Protocol Buffers, field by field: what reading a message that nobody vouches for needs, with the
 * fields' places in the bytes, and what copying one with some changes needs.
 */

import { reason } from './errors.js';

/** The bytes are no protobuf message, or not the expected one. */
export class WireError extends Error {}

const VARINT = 0;
const BIT64 = 1;
const BYTES = 2;
const BIT32 = 5;

/** One field of a message. */
export class Field {
  constructor(
    readonly number: number,
    /** Where the field begins, its tag included, and where it ends. */
    readonly start: number,
    readonly end: number,
    private readonly wire: number,
    private readonly content: Uint8Array | bigint | number,
  ) {}

  /** The content of a length-delimited field. */
  bytes(): Uint8Array {
    if (this.wire !== BYTES) {
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
  big(): bigint | number {
    if (this.wire !== VARINT) throw new WireError(`field ${this.number} is not a whole number`);
    return this.content as bigint | number;
  }

  /** A floating-point number. */
  double(): number {
    if (this.wire !== BIT64) {
      throw new WireError(`field ${this.number} is not a floating-point number`);
    }
    return this.content as number;
  }

  /** 32-bit numbers that may be packed into one field or be one each. */
  fixed32s(): number[] {
    if (this.wire === BIT32) return [this.content as number];
    const data = this.bytes();
    if (data.length % 4) throw new WireError(`field ${this.number} does not hold 32-bit numbers`);
    const view = viewOf(data);
    return Array.from({ length: data.length / 4 }, (_, i) => view.getUint32(4 * i, true));
  }

  /** Numbers that may be packed into one field or be one each. */
  numbers(): (bigint | number)[] {
    if (this.wire === VARINT) return [this.big()];
    const reader = new Reader(this.bytes());
    const found: (bigint | number)[] = [];
    while (!reader.isAtEnd) found.push(reader.varint());
    return found;
  }
}

function viewOf(data: Uint8Array): DataView {
  return new DataView(data.buffer, data.byteOffset, data.length);
}

class Reader {
  position = 0;

  constructor(private readonly data: Uint8Array) {}

  get isAtEnd(): boolean {
    return this.position >= this.data.length;
  }

  /** Go on by so many bytes; returns where they begin. */
  skip(size: number): number {
    const begin = this.position;
    if (size > this.data.length - begin) throw new WireError('it ends in the middle of a field');
    this.position += size;
    return begin;
  }

  varint(): bigint | number {
    let low = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.data[this.skip(1)] as number;
      low |= (byte & 127) << shift;
      if (byte < 128) return low;
    }
    let value = BigInt(low);
    for (let shift = 28n; shift < 70n; shift += 7n) {
      const byte = this.data[this.skip(1)] as number;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw new WireError('it has a number of more than 64 bits');
  }
}

/** The fields of a message, in order. */
export function fields(data: Uint8Array): Field[] {
  const reader = new Reader(data);
  const view = viewOf(data);
  const found: Field[] = [];
  while (!reader.isAtEnd) {
    const start = reader.position;
    const tag = Number(reader.varint());
    const [number, wire] = [Math.floor(tag / 8), tag % 8];
    if (!number || number >= 2 ** 29) throw new WireError(`it has a field of number ${number}`);
    let content: Uint8Array | bigint | number;
    if (wire === BYTES) {
      const size = Number(reader.varint());
      const begin = reader.skip(size);
      content = data.subarray(begin, begin + size);
    } else if (wire === VARINT) content = reader.varint();
    else if (wire === BIT64) content = view.getFloat64(reader.skip(8), true);
    else if (wire === BIT32) content = view.getUint32(reader.skip(4), true);
    else throw new WireError(`it has a field of wire type ${wire}`);
    found.push(new Field(number, start, reader.position, wire, content));
  }
  return found;
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
}

/** A length-delimited field as bytes. */
export function bytesField(number: number, content: Uint8Array): Uint8Array {
  const head = [...varint(8 * number + BYTES), ...varint(content.length)];
  return joined(Uint8Array.from(head), content);
}

/** A text field as bytes. */
export function textField(number: number, content: string): Uint8Array {
  return bytesField(number, new TextEncoder().encode(content));
}

/** A number as a field of bytes. */
export function numberField(number: number, value: number): Uint8Array {
  return Uint8Array.from([...varint(8 * number + VARINT), ...varint(value)]);
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
