/** Floating-point numbers that JavaScript has no arrays of: their bits, and what they stand for. */

/** Bits of the exponent and of the fraction. */
const FORMATS: Readonly<Record<string, readonly [number, number] | undefined>> = {
  float16: [5, 10],
  bfloat16: [8, 7],
  float8_e4m3fn: [4, 3],
  float8_e5m2: [5, 2],
};

/** Converts both ways; numbers from `limit` on would become an infinity. */
export interface Format {
  toBits(value: number): number;
  toNumber(bits: number): number;
  readonly limit: number;
}

/** How a dtype is converted; null: it is none of these. */
export function formatOf(dtype: string): Format | null {
  const found = FORMATS[dtype];
  if (!found) return null;
  const [exponentBits, fractionBits] = found;
  const bias = 2 ** (exponentBits - 1) - 1;
  const top = 2 ** exponentBits - 1;
  const one = 2 ** fractionBits;
  const signBit = 2 ** (exponentBits + fractionBits);
  // This one has numbers where others have infinities; all ones is its only NaN.
  const isFinite = dtype === 'float8_e4m3fn';
  const nan = isFinite ? signBit - 1 : top * one + one / 2;
  const greatest = isFinite
    ? 2 ** (top - bias) * (2 - 2 / one)
    : 2 ** (top - bias) * (1 - 0.5 / one);
  const step = 2 ** (Math.floor(Math.log2(greatest)) - fractionBits);
  return {
    limit: greatest + step / 2,
    toBits(value) {
      if (Number.isNaN(value)) return nan;
      const sign = value < 0 || Object.is(value, -0) ? signBit : 0;
      const size = Math.abs(value);
      if (size >= this.limit) return sign + (isFinite ? nan : top * one);
      const exponent = Math.max(Math.floor(Math.log2(size)), 1 - bias);
      // Units of the last place; a carry runs into the exponent, as it should.
      const units = roundEven(size / 2 ** (exponent - fractionBits));
      return sign + (units < one ? units : (exponent + bias - 1) * one + units);
    },
    toNumber(bits) {
      const sign = bits & signBit ? -1 : 1;
      const exponent = (bits & (signBit - 1)) >> fractionBits;
      const fraction = (bits & (one - 1)) / one;
      if ((bits & (signBit - 1)) === nan) return NaN;
      if (exponent === top && !isFinite) return fraction ? NaN : sign * Infinity;
      return exponent
        ? sign * 2 ** (exponent - bias) * (1 + fraction)
        : sign * 2 ** (1 - bias) * fraction;
    },
  };
}

function roundEven(x: number): number {
  const floor = Math.floor(x);
  const rest = x - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}
