/** An adapter as a file that tfx.adapt.load_lora and peft read: safetensors, factors alone. */

const PREFIX = 'base_model.model.';

/** The variables of the adapter by the name of the weight: its two factors. */
export function factors(bundle) {
  const names = bundle.variables.names().filter((name) => name.startsWith('lora/a/'));
  return names.map((name) => ({
    weight: name.slice('lora/a/'.length),
    a: name,
    b: name.replace('lora/a/', 'lora/b/'),
  }));
}

/** @returns {Uint8Array} The file. */
export function adapterFile(bundle, settings) {
  const header = { __metadata__: { format: 'pt', 'tfx.adapter': JSON.stringify(settings) } };
  const parts = [];
  let end = 0;
  const add = (key, { data, shape }) => {
    header[key] = { dtype: 'F32', shape, data_offsets: [end, end + data.byteLength] };
    parts.push(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    end += data.byteLength;
  };
  for (const { weight, a, b } of factors(bundle)) {
    const layer = PREFIX + weight.replace(/\.(kernel|weight)$/, '');
    add(`${layer}.lora_A.weight`, transposed(bundle.variables.get(a)));
    add(`${layer}.lora_B.weight`, transposed(bundle.variables.get(b)));
  }
  let text = JSON.stringify(header);
  text += ' '.repeat(-(text.length + 8) & 63);
  const file = new Uint8Array(8 + text.length + end);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(new TextEncoder().encode(text), 8);
  let place = 8 + text.length;
  for (const part of parts) {
    file.set(part, place);
    place += part.byteLength;
  }
  return file;
}

function transposed({ data, shape: [rows, columns] }) {
  const turned = new Float32Array(data.length);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) turned[j * rows + i] = data[i * columns + j];
  }
  return { data: turned, shape: [columns, rows] };
}
