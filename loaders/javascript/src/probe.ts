/** Whether the runtime is new enough, asked with a graph of one node before a real one is opened. */

import { reason, UnsupportedVersionError } from './errors.js';
import type { Runtime } from './platform.js';
import { bytesField, joined, numberField, textField } from './wire.js';

/** No runtime will ever have come this far: these numbers are wrong. */
const ABSURD = 100_000;

/** What ONNX Runtime says of graphs from its future. */
export const TOO_NEW = /is under development|Unsupported model IR version/;

/**
 * Refuse a bundle whose graphs the runtime cannot know.
 *
 * @param opset The opset that the bundle needs; 0: it does not say.
 * @param irVersion The version of ONNX's file format that it needs; 0: it does not say.
 * @throws UnsupportedVersionError the runtime is too old.
 */
export async function checkRuntime(
  runtime: Runtime,
  { opset, irVersion }: { readonly opset: number; readonly irVersion: number },
  where: string,
): Promise<void> {
  if (!opset && !irVersion) return;
  const refuse = (problem: string): never => {
    throw new UnsupportedVersionError(
      `${where}: it needs opset ${opset} and IR version ${irVersion} of ONNX, which the runtime is ` +
        `too old for (${problem}); upgrade it`,
    );
  };
  if (opset > ABSURD || irVersion > ABSURD) refuse('no runtime has them');
  const none = new Map<string, never>();
  const read = () => new Uint8Array();
  try {
    const model = probeModel(opset || 13, irVersion || 8);
    await (await runtime.compile(model, { external: none, read, folds: true })).release();
  } catch (error) {
    const text = reason(error);
    // Anything else is wrong with the real graph too, and is said there.
    if (TOO_NEW.test(text)) refuse(text);
  }
}

function probeModel(opset: number, irVersion: number): Uint8Array {
  const port = (name: string) => {
    const type = bytesField(1, joined(numberField(1, 1), bytesField(2, new Uint8Array())));
    return joined(textField(1, name), bytesField(2, type));
  };
  const node = joined(textField(1, 'x'), textField(2, 'y'), textField(4, 'Identity'));
  const graph = joined(
    bytesField(1, node),
    textField(2, 'probe'),
    bytesField(11, port('x')),
    bytesField(12, port('y')),
  );
  return joined(
    numberField(1, irVersion),
    bytesField(7, graph),
    bytesField(8, joined(textField(1, ''), numberField(2, opset))),
  );
}
