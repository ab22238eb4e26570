/** What the package holds, and that its documents run as printed. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { transformSync } from 'esbuild';

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

test('its declarations serve a strict program', () => {
  const flags = '--noEmit --strict --exactOptionalPropertyTypes --target es2022 --lib es2023,dom';
  const more = '--module nodenext --moduleResolution nodenext --types node';
  const compiler = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [compiler, ...flags.split(' '), ...more.split(' '), 'test/consumer.ts'];
  execFileSync(process.execPath, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
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
