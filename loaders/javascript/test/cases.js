/** What one conformance case asks of a bundle; the same in Node and in the browser. */

/** A tensor of `case.json` as the loader takes it. */
function given({ dtype, shape, data }) {
  // The loader must refuse such a tensor, whatever it holds.
  if (!(dtype in ARRAYS) && dtype !== 'string' && dtype !== 'float16') {
    return { dtype, shape, data: new Uint16Array(data.length) };
  }
  if (dtype === 'float16') return nested(data.map(number), shape);
  if (dtype === 'string') return nested(data, shape);
  const array = ARRAYS[dtype];
  const convert = array === BigInt64Array || array === BigUint64Array ? BigInt : number;
  return { dtype, shape, data: array.from(data, convert) };
}

const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  bool: Uint8Array,
};

function number(item) {
  return item === 'inf' ? Infinity : item === '-inf' ? -Infinity : Number(item);
}

function nested(flat, shape) {
  let items = flat;
  for (const size of shape.slice(1).reverse()) {
    items = Array.from({ length: items.length / size }, (_, i) =>
      items.slice(i * size, (i + 1) * size),
    );
  }
  return shape.length ? items : items[0];
}

/** The value of a float16 from its bits. */
function half(bits) {
  const sign = bits >> 15 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction);
}

/** What is different between a tensor and the expected one; null: nothing. */
function difference(tensor, expected, { rtol, atol }) {
  const { dtype, shape, data } = expected;
  if (tensor.dtype !== dtype || String(tensor.shape) !== String(shape)) {
    return `${tensor.dtype}[${tensor.shape}], expected ${dtype}[${shape}]`;
  }
  for (let i = 0; i < data.length; i++) {
    let found = tensor.data[i];
    if (dtype === 'float16') found = half(found);
    let same = String(found) === String(data[i]);
    if (dtype === 'bool') same = Boolean(found) === data[i];
    else if (typeof found === 'number') {
      const wanted = number(data[i]);
      const exact = Number.isInteger(wanted) && dtype.includes('int');
      const margin = exact ? 0 : atol + rtol * Math.abs(wanted);
      same = Object.is(found, wanted) || found === wanted || Math.abs(found - wanted) <= margin;
    }
    if (!same) return `element ${i} is ${found}, expected ${data[i]}`;
  }
  return null;
}

function check(problem, what) {
  if (problem) throw new Error(`${what}: ${problem}`);
}

async function failure(work) {
  try {
    await work();
  } catch (error) {
    return error;
  }
  return null;
}

/** Whether an error is of a kind of the specification. */
function isKind(errors, error, kind) {
  const wanted = errors[kind.endsWith('Error') ? kind : `${kind}Error`];
  return error instanceof wanted;
}

/** What the loader says where its runtime lacks what a case is about. */
export const UNSUPPORTED = 'unsupported: ';

/** Dtypes that onnxruntime-node and -web have no tensors of. */
const LACKING = ['bfloat16', 'float8_e4m3fn', 'float8_e5m2', 'complex64', 'complex128'];

/**
 * Run a case.
 *
 * @param loader The module: `Bundle` and the kinds of errors.
 * @param record The content of `case.json`.
 * @param open Opens the case's bundle.
 * @param saveAgain Saves a bundle elsewhere and opens that.
 * @param gpu Whether graphs run on WebGPU, which lacks kernels and does not check values.
 * @returns Null, or why the runtime cannot do what the case is about: a step needs a dtype or kernel
 *   that it has not, and the loader refused it as `Unimplemented`.
 */
export async function runCase(loader, record, open, saveAgain, gpu = false) {
  if (gpu && record.steps.some((step) => step.kernel)) {
    return `${UNSUPPORTED}kernels of WebGPU do not check values such as indices`;
  }
  try {
    return await runSteps(loader, record, open, saveAgain);
  } catch (error) {
    const lacks = gpu || record.dtypes.some((dtype) => LACKING.includes(dtype));
    if (lacks && isKind(loader, error, 'Unimplemented')) return UNSUPPORTED + error.message;
    throw error;
  }
}

async function runSteps(loader, record, open, saveAgain) {
  if (record.refused) {
    const error = await failure(async () => {
      const bundle = await open();
      await bundle.warmup();
      for (const name of bundle.variables.names()) bundle.variables.get(name);
    });
    check(error ? null : 'nothing was refused', record.about);
    const right = isKind(loader, error, record.refused);
    check(
      right ? null : `${error.name} (${error.message}), expected ${record.refused}`,
      record.about,
    );
    return null;
  }
  let bundle = await open();
  for (const step of record.steps) {
    if (step.call !== undefined) await runCall(loader, bundle, step, record);
    else if (step.variables) {
      for (const [name, expected] of Object.entries(step.variables)) {
        check(difference(bundle.variables.get(name), expected, record), `variable ${name}`);
      }
    } else if (step.assign) {
      const values = Object.entries(step.assign).map(([name, item]) => [name, given(item)]);
      await bundle.variables.assign(Object.fromEntries(values));
    } else if (step.save) bundle = await saveAgain(bundle);
    else throw new Error(`unknown step ${JSON.stringify(step)}`);
  }
  await bundle.close();
  return null;
}

async function runCall(loader, bundle, step, record) {
  const inputs = Object.entries(step.inputs).map(([name, item]) => [name, given(item)]);
  const call = () => bundle.call(step.call, Object.fromEntries(inputs));
  if (step.error) {
    const error = await failure(call);
    check(error ? null : 'it succeeded', `${step.call}, expected ${step.error}`);
    const right = isKind(loader, error, step.error);
    check(
      right ? null : `${error.name} (${error.message})`,
      `${step.call}, expected ${step.error}`,
    );
    return;
  }
  const outputs = await call();
  const names = Object.keys(step.outputs).sort();
  check(String(Object.keys(outputs).sort()) === String(names) ? null : 'other outputs', step.call);
  for (const name of names) {
    check(difference(outputs[name], step.outputs[name], record), `${step.call}, ${name}`);
  }
}
