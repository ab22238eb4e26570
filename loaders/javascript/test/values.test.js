/** What may be given for a tensor, and what comes back. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import vm from 'node:vm';

import * as tfx from '../dist/node.js';
import { bundleOf, opened } from './scratch.js';

const refused = (work, text, kind = tfx.InvalidArgumentError) =>
  assert.rejects(work, (error) => {
    assert.ok(error instanceof kind, error.stack);
    assert.match(error.message, text);
    return true;
  });

test('arrays of other realms, of rows, of bits, and of plain numbers', () =>
  opened(bundleOf('shapes'), async (bundle) => {
    const forms = [
      vm.runInNewContext('Float32Array.of(1, 2, 3, 4, 5, 6)'),
      vm.runInNewContext('[[1, 2, 3], [4, 5, 6]]'),
      [Float32Array.of(1, 2, 3), Float32Array.of(4, 5, 6)],
      { data: [1, 2, 3, 4, 5, 6], shape: [2, 3] },
      { data: [1n, 2n, 3n, 4n, 5n, 6n], shape: [2, 3] },
      new Float32Array(new SharedArrayBuffer(24)).fill(1),
    ];
    for (const x of forms) {
      const { sum } = await bundle.call('weigh', { x, y: [1, 1] });
      assert.deepEqual(sum.toArray(), x === forms.at(-1) ? [2, 2, 2] : [5, 7, 9]);
    }
  }));

test('a call has its inputs as they were when it was made', () =>
  opened(bundleOf('training'), async (bundle) => {
    const [x, y] = [new Float32Array(6), new Float32Array(2)];
    const inputs = (i) => {
      x.fill(i);
      y.fill(i + 1);
      return { x: { data: x, shape: [2, 3] }, y: { data: y, shape: [2] } };
    };
    const together = [0, 1, 2, 3].map((i) => bundle.call('train_step', inputs(i)));
    const found = (await Promise.all(together)).map(({ loss }) => loss.item());
    const expected = await opened(bundleOf('training'), async (other) => {
      const losses = [];
      for (const i of [0, 1, 2, 3]) {
        losses.push((await other.call('train_step', inputs(i))).loss.item());
      }
      return losses;
    });
    assert.deepEqual(found, expected);
  }));

test('an array that changes while a call is under way changes no result', () =>
  opened(bundleOf('shapes'), async (bundle) => {
    const [x, y] = [new Float32Array(6), new Float32Array(2)];
    const call = () => {
      x.set([1, 2, 3, 4, 5, 6]);
      y.fill(1);
      return bundle.call('weigh', { x: { data: x, shape: [2, 3] }, y });
    };
    // At once, as the runtime starts, and later; the first of them waits for the session as well.
    for (let ticks = 0; ticks < 12; ticks++) {
      const found = call();
      for (let i = 0; i < ticks; i++) await undefined;
      x.fill(-1);
      y.fill(-1);
      assert.deepEqual((await found).sum.toArray(), [5, 7, 9], `${ticks}`);
    }
  }));

test('integers of 64 bits come as numbers, bigints and arrays, and as nothing that loses', () =>
  opened(bundleOf('dtypes'), async (bundle) => {
    const call = async (dtype, x) =>
      (await bundle.call(`twice_${dtype}`, { x })).back.toArray().map(String);
    const most = 2n ** 63n - 1n;
    assert.deepEqual(await call('int64', [1, -2]), ['-2', '1']);
    assert.deepEqual(await call('int64', [most, -most - 1n]), [-most - 1n, most].map(String));
    assert.deepEqual(await call('int64', BigInt64Array.of(5n, 6n)), ['6', '5']);
    assert.deepEqual(await call('uint64', [2n ** 64n - 1n, 0]), ['0', String(2n ** 64n - 1n)]);
    assert.deepEqual(await call('int64', { data: [3, 4], shape: [2] }), ['4', '3']);
    for (const bad of [
      [0.5, 1],
      [most + 1n, 0],
      [NaN, 0],
      [1e300, 0],
      ['1', '2'],
      [true, false],
    ]) {
      await refused(call('int64', bad), /"x" has the element .*, expected int64\[n\]/);
    }
    await refused(call('int64', Int32Array.of(1, 2)), /Int32Array.*int64/, tfx.DTypeMismatchError);
    await refused(call('uint8', [256, 0]), /element 256, expected uint8/);
    await refused(call('uint64', [-1, 0]), /element -1, expected uint64/);
    assert.deepEqual(await call('uint8', Uint8ClampedArray.of(255, 1)), ['1', '255']);
    assert.deepEqual(await call('uint8', Buffer.from([7, 8])), ['8', '7']);
  }));

test('booleans, strings and floats', () =>
  opened(bundleOf('dtypes'), async (bundle) => {
    const call = async (dtype, x) => (await bundle.call(`twice_${dtype}`, { x })).back;
    assert.deepEqual((await call('bool', [true, false])).toArray(), [false, true]);
    assert.deepEqual((await call('bool', Uint8Array.of(1, 0))).toArray(), [false, true]);
    await refused(call('bool', Uint8Array.of(2, 0)), /neither 0 nor 1/);
    await refused(call('bool', [1, 0]), /element 1, expected bool/);
    assert.deepEqual((await call('string', ['\ufeffa', 'ü'])).toArray(), ['ü', '\ufeffa']);
    await refused(call('string', [1, 'a']), /element 1, expected string/);
    await refused(call('string', { data: ['a', null], shape: [2] }), /element null|element Null/);
    assert.deepEqual((await call('float64', [1e308, -0])).toArray(), [-0, 1e308]);
    assert.deepEqual((await call('float32', [Infinity, NaN])).toArray(), [NaN, Infinity]);
    await refused(call('float32', [10n ** 60n, 0]), /element 1000/);
    await refused(call('float64', [10n ** 400n, 0]), /element 1000/);
    // Halves are rounded to the nearest, ties to even, and are numbers again.
    const half = await call('float16', [0.1, 65519]);
    assert.ok(half.data instanceof Uint16Array);
    assert.deepEqual(half.toArray(), [65504, 0.0999755859375]);
    assert.deepEqual(
      (await call('float16', [5.960464477539063e-8, -2049])).toArray(),
      [-2048, 5.960464477539063e-8],
    );
    await refused(call('float16', [65520, 0]), /element 65520/);
    if (typeof Float16Array !== 'undefined') {
      assert.deepEqual((await call('float16', globalThis.Float16Array.of(1, 2))).toArray(), [2, 1]);
    }
  }));

test('narrow floats of variables are numbers', () =>
  opened(bundleOf('narrow'), async (bundle) => {
    assert.deepEqual(bundle.variables.get('w').toArray(), [0.5, -2, 3]);
    await bundle.variables.assign({ w: [1.5, 1 / 3, -0.25] });
    assert.deepEqual(bundle.variables.get('w').toArray(), [1.5, 0.333984375, -0.25]);
    const { y } = await bundle.call('scale', { x: [2, 2, 2] });
    assert.deepEqual(y.toArray(), [3, 0.66796875, -0.5]);
    await assert.rejects(bundle.variables.assign({ w: [1e39, 0, 0] }), /1e\+39/);
  }));

test('every bit pattern of the narrow floats is the number that it comes back from', () => {
  for (const [dtype, array, nans] of [
    ['float16', Uint16Array, 2046],
    ['bfloat16', Uint16Array, 254],
    ['float8_e4m3fn', Uint8Array, 2],
    ['float8_e5m2', Uint8Array, 6],
  ]) {
    const bits = array.from({ length: 2 ** (8 * array.BYTES_PER_ELEMENT) }, (_, i) => i);
    const values = new tfx.Tensor(dtype, bits, [bits.length]).toArray();
    assert.equal(values.filter(Number.isNaN).length, nans);
    const half = bits.length / 2;
    values.slice(0, half).forEach((value, i) => {
      assert.ok(i === 0 || !(value <= values[i - 1]), `${dtype} ${i}: not in order`);
      if (!Number.isNaN(value)) assert.ok(Object.is(values[i + half], -value));
    });
  }
});

test('what cannot be a tensor is refused, and nothing hangs', () =>
  opened(bundleOf('shapes'), async (bundle) => {
    const endless = [];
    endless.push(endless);
    const call = (x) => bundle.call('weigh', { x, y: [1] });
    await refused(call(endless), /nested more than 64 deep/);
    await refused(call([[1, 2, Symbol('s')]]), /Symbol/);
    await refused(call([[1, 2, {}]]), /element Object/);
    await refused(call([[1, 2, Object.create(null)]]), /element Object/);
    await refused(call([[1, , 3]]), /element undefined/);
    await refused(call({}), /an object without data/);
    await refused(call({ data: null, shape: [1, 3] }), /is null.*|Null\[1, 3\]/);
    await refused(call({ data: new Float32Array(3), shape: [-1, -3] }), /shape \[-1,-3\]/);
    await refused(call({ data: new Float32Array(3), shape: [1.5, 2] }), /shape \[1.5,2\]/);
    await refused(call({ data: new Float32Array(3), shape: '1,3' }), /shape "1,3"/);
    await refused(call({ data: new Float32Array(4), shape: [1, 3] }), /4 elements/);
    await refused(call(new Float32Array(4)), /float32\[n, 3\]; give \{data, shape\}/);
    await refused(call(new DataView(new ArrayBuffer(12))), /without data/);
    await refused(call({ location: 'gpu-buffer', data: [] }), /on gpu-buffer.*getData/);
    await refused(bundle.call('weigh', null), /its inputs are null/);
    await refused(bundle.call('weigh', 5), /its inputs are 5/);
    await refused(bundle.call('weigh', [[1, 2, 3]]), /no input "0"/);
    assert.throws(() => new tfx.Tensor('float32', new Float32Array(4), [-2, -2]), /sizes/);
    assert.throws(() => new tfx.Tensor('float32', new Float32Array(4), [4]).item(), /toArray/);
  }));

test('empty tensors keep their shapes', () =>
  opened(bundleOf('shapes'), async (bundle) => {
    const none = await bundle.call('weigh', { x: new Float32Array(0), y: [] });
    assert.deepEqual([none.sum.toArray(), none.n.item()], [[0, 0, 0], 0]);
    const { y } = await bundle.call('transpose', {
      x: { data: new Float32Array(0), shape: [0, 4] },
    });
    assert.deepEqual(
      [y.shape, y.toArray()],
      [
        [4, 0],
        [[], [], [], []],
      ],
    );
    await refused(
      bundle.call('transpose', { x: [1] }),
      /float32\[1\], expected float32\[None, None\]/,
    );
  }));

test('signatures know how arguments and results were nested', () =>
  opened(bundleOf('structures'), ({ signatures }) => {
    const { args, kwargs, result } = signatures.mix.structure;
    assert.deepEqual(args[0].b[1], { name: 'b1', dtype: 'float32', shape: [] });
    assert.equal(args[0].a, signatures.mix.inputs.a);
    assert.deepEqual(kwargs, {});
    assert.deepEqual(Object.keys(result).sort(), ['first', 'second']);
  }));

test('ten thousand calls gather no memory', () => {
  const program = `
import { Bundle } from ${JSON.stringify(new URL('../dist/node.js', import.meta.url).href)};
const bundle = await Bundle.open(process.argv[1]);
const inputs = { x: Array.from({ length: 64 }, () => [1, 2, 3]), y: new Float32Array(64) };
const use = async (count) => {
  for (let i = 0; i < count; i++) {
    await bundle.call('train_step', inputs);
    if (i % 10 === 0) await bundle.call('predict', { x: inputs.x });
  }
  gc();
};
await use(1000);
const before = process.memoryUsage().rss;
await use(10000);
console.log(process.memoryUsage().rss - before);
await bundle.close();
`;
  const args = ['--expose-gc', '--input-type=module', '-e', program, bundleOf('training')];
  const grown = Number(String(execFileSync(process.execPath, args)));
  assert.ok(grown < 20e6, `${grown} bytes in 10,000 calls`);
});
