/**
 * Walking protobuf messages field by field.
 *
 * The reader of the protobuf library does the decoding; this adds the fields' places in the bytes,
 * which copying a message but for some fields needs, and turns its exceptions into one kind.
 */

import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

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
    if (!(this.content instanceof Uint8Array) || this.wire !== WireType.LengthDelimited) {
      throw new WireError(`field ${this.number} is a number, expected bytes`);
    }
    return this.content;
  }

  /** A string. */
  text(): string {
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(this.bytes());
    } catch (error) {
      throw new WireError(`field ${this.number} is not UTF-8 (${reason(error)})`);
    }
  }

  /** An unsigned number; one that JavaScript cannot hold exactly is refused. */
  number53(): number {
    const value = this.big();
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) {
      throw new WireError(`field ${this.number} is ${value}, which is too great`);
    }
    return Number(value);
  }

  /** An unsigned 64-bit number. */
  big(): bigint {
    if (typeof this.content !== 'bigint') {
      throw new WireError(`field ${this.number} is not a whole number`);
    }
    return this.content;
  }

  /** Numbers that may be packed into one field or be one each. */
  numbers(): bigint[] {
    if (typeof this.content === 'bigint') return [this.content];
    const reader = new BinaryReader(this.bytes());
    const found: bigint[] = [];
    guarded(() => {
      while (reader.pos < reader.len) found.push(BigInt(reader.uint64()));
    });
    return found;
  }
}

/** The fields of a message, in order. */
export function fields(data: Uint8Array): Field[] {
  const reader = new BinaryReader(data);
  const found: Field[] = [];
  guarded(() => {
    while (reader.pos < reader.len) {
      const start = reader.pos;
      const [number, wire] = reader.tag();
      let content: Uint8Array | bigint | number;
      if (wire === WireType.LengthDelimited) {
        const size = reader.uint32();
        const end = reader.pos + size;
        if (end > reader.len) throw new WireError('it ends in the middle of a field');
        content = data.subarray(reader.pos, end);
        reader.pos = end;
      } else if (wire === WireType.Varint) content = BigInt(reader.uint64());
      else if (wire === WireType.Bit64) content = reader.double();
      else if (wire === WireType.Bit32) content = reader.float();
      else throw new WireError(`it has a field of wire type ${wire}`);
      if (reader.pos > reader.len) throw new WireError('it ends in the middle of a field');
      found.push(new Field(number, start, reader.pos, wire, content));
    }
  });
  return found;
}

function guarded(read: () => void): void {
  try {
    read();
  } catch (error) {
    throw error instanceof WireError ? error : new WireError(reason(error));
  }
}

/** A length-delimited field as bytes. */
export function bytesField(number: number, content: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(content).finish();
}

/** A text field as bytes. */
export function textField(number: number, content: string): Uint8Array {
  return bytesField(number, new TextEncoder().encode(content));
}

/** A number as a field of bytes. */
export function numberField(number: number, value: number): Uint8Array {
  return new BinaryWriter().tag(number, WireType.Varint).uint64(value).finish();
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
