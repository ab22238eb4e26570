/** What the package holds, and that its documents run as printed. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { buildSync, transformSync } from 'esbuild';
import ts from 'typescript';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
const repository = path.join(root, '..', '..');
const read = (...parts) => fs.readFileSync(path.join(...parts), 'utf8');
const about = JSON.parse(read(root, 'package.json'));
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tfx-package-'));
after(() => fs.rmSync(scratch, { recursive: true, force: true }));

test('it holds what is imported, its sources and nothing else', () => {
  const options = { cwd: root, env: { ...process.env, npm_config_loglevel: 'silent' } };
  const command = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const [{ files }] = JSON.parse(String(execFileSync('npm', command, options)));
  const names = files.map((file) => file.path);
  for (const name of ['package.json', 'README.md', 'dist/tfx-web.js', 'dist/node.d.ts']) {
    assert.ok(names.includes(name), name);
  }
  const entries = Object.values(about.exports['.']).concat(about.exports['./web']);
  for (const { types, default: code } of entries) {
    assert.ok(names.includes(types.slice(2)) && names.includes(code.slice(2)), code);
  }
  const allowed =
    /^(package\.json|README\.md|LICENSE|src\/[a-z_]+\.ts|dist\/[a-z_-]+\.(js|js\.map|d\.ts))$/;
  assert.deepEqual(
    names.filter((name) => !allowed.test(name)),
    [],
  );
});

test('version and license are those of the Python package', () => {
  const [, version] = /VERSION\b[^=]*= "([^"]+)"/.exec(read(repository, 'tfx/core/version.py'));
  const [, license] = /^license = "([^"]+)"/m.exec(read(repository, 'pyproject.toml'));
  assert.deepEqual([about.version, about.license], [version, license]);
});

test('nothing is run when it is installed, and the lock names no registry', () => {
  const hooks = ['preinstall', 'install', 'postinstall', 'prepare'];
  assert.deepEqual(
    Object.keys(about.scripts).filter((name) => hooks.includes(name)),
    [],
  );
  assert.match(read(root, '.npmrc'), /^ignore-scripts=true$/m);
  assert.doesNotMatch(read(root, 'package-lock.json'), /"resolved"/);
});

/** The compiler's own files, parsed once. */
const library = new Map();

/**
 * Compile programs that use the package: what is wrong with them and with the declarations that they
 * take from it. Declarations of others are read, and not checked again.
 */
function compile(kind, ...programs) {
  const common = { noEmit: true, strict: true, exactOptionalPropertyTypes: true, types: ['node'] };
  const { options, errors } = ts.convertCompilerOptionsFromJson(
    { ...common, target: 'es2022', lib: ['es2023', 'dom'], ...kind },
    root,
  );
  const host = ts.createCompilerHost(options);
  const open = host.getSourceFile;
  host.getSourceFile = (name, ...rest) => {
    if (!/\/typescript\/lib\/lib\.[^/]*$/.test(name)) return open(name, ...rest);
    if (!library.has(name)) library.set(name, open(name, ...rest));
    return library.get(name);
  };
  const program = ts.createProgram(
    programs.map((name) => path.join(root, name)),
    options,
    host,
  );
  const ours = program
    .getSourceFiles()
    .filter((file) => path.relative(root, file.fileName).match(/^(test|dist)/));
  const found = ours.flatMap((file) => [
    ...program.getSyntacticDiagnostics(file),
    ...program.getSemanticDiagnostics(file),
  ]);
  errors.push(...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics(), ...found);
  assert.equal(ts.formatDiagnostics(errors, { ...host, getNewLine: () => '\n' }), '');
  return ours.map((file) => path.relative(root, file.fileName));
}

test('its declarations serve a strict program, and one in CommonJS', () => {
  const kind = { module: 'nodenext', moduleResolution: 'nodenext' };
  const files = compile(kind, 'test/consumer.ts', 'test/required.cts');
  assert.ok(files.includes('dist/node.d.ts') && files.includes('test/required.cts'), files);
});

test('a bundler takes the entry for browsers, and its declarations are whole', () => {
  const files = compile({ module: 'esnext', moduleResolution: 'bundler' }, 'test/bundled.ts');
  assert.ok(files.includes('dist/web.d.ts') && !files.includes('dist/node.d.ts'), files);
});

test('bundlers take the entry of their platform', () => {
  const source = "import { Bundle } from 'tfx-onnx'; console.log(Bundle);";
  const entry = (platform) => {
    const { metafile } = buildSync({
      stdin: { contents: source, resolveDir: path.join(root, 'test') },
      bundle: true,
      write: false,
      metafile: true,
      platform,
      format: 'esm',
      external: ['onnxruntime-node', 'onnxruntime-web'],
    });
    const names = Object.keys(metafile.inputs).map((name) => path.basename(name));
    return ['web.js', 'node.js'].filter((name) => names.includes(name));
  };
  assert.deepEqual([entry('browser'), entry('node')], [['web.js'], ['node.js']]);
});

test('a program in CommonJS can use it', () => {
  const program = `
import('tfx-onnx').then(({ Bundle }) => console.log(typeof Bundle.open));
if (process.features.require_module) console.log(typeof require('tfx-onnx').Bundle.open);
console.log(require('tfx-onnx/package.json').name);
`;
  const args = ['--input-type=commonjs', '--no-warnings', '-e', program];
  const printed = String(execFileSync(process.execPath, args, { cwd: root }))
    .trim()
    .split('\n');
  assert.deepEqual(new Set(printed), new Set(['function', 'tfx-onnx']));
});

test('it depends on two libraries and a runtime, and the single file on the runtime alone', () => {
  assert.deepEqual(Object.keys(about.dependencies), ['@bufbuild/protobuf', '@noble/hashes']);
  assert.deepEqual(Object.keys(about.peerDependencies), ['onnxruntime-node', 'onnxruntime-web']);
  const code = read(root, 'dist', 'tfx-web.js');
  const { metafile } = buildSync({
    stdin: { contents: code },
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    external: ['*'],
  });
  const [{ imports }] = Object.values(metafile.outputs);
  assert.deepEqual(
    imports.map((item) => item.path),
    ['onnxruntime-web'],
  );
  assert.ok(gzipSync(code, { level: 9 }).length <= 34_000);
});

const blocks = (text, language) =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
    ([, code]) => code,
  );

test('programs in documents are JavaScript', () => {
  for (const file of [path.join(root, 'README.md'), path.join(repository, 'docs/javascript.md')]) {
    const found = blocks(read(file), 'js');
    const scripts = blocks(read(file), 'html').flatMap((html) =>
      [...html.matchAll(/<script type="module">(.*?)<\/script>/gs)].map(([, code]) => code),
    );
    assert.ok(found.length && scripts.length, file);
    for (const code of [...found, ...scripts]) transformSync(code, { format: 'esm' });
  }
});

const demo = process.env.TFX_DEMO;
const skip = demo ? false : 'set TFX_DEMO to the folder that tools/make_demo_web.py made';

test('programs for Node in documents run as printed', { skip }, () => {
  for (const file of [path.join(root, 'README.md'), path.join(repository, 'docs/javascript.md')]) {
    const folder = fs.mkdtempSync(path.join(scratch, 'run-'));
    fs.cpSync(path.join(demo, 'digits_bundle'), path.join(folder, 'digits_bundle'), {
      recursive: true,
    });
    const code = blocks(read(file), 'js')[0].replace("'tfx-onnx'", `'${root}/dist/node.js'`);
    fs.writeFileSync(path.join(folder, 'program.mjs'), code);
    const output = String(execFileSync(process.execPath, ['program.mjs'], { cwd: folder }));
    assert.ok(output.split('\n').length > 5, output);
    assert.ok(fs.existsSync(path.join(folder, 'trained_digits', 'bundle.pb')));
  }
});
