/** A static file server on the loopback address, for tests and for the demo page. */

import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

const TYPES = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.mjs': 'text/javascript',
  '.png': 'image/png',
  '.wasm': 'application/wasm',
};

/**
 * Serve folders.
 *
 * @param mounts Folder by first part of the path.
 * @param options `isolated`: send the headers that let pages use threads. `uploads`: keep what is
 *   PUT below this folder. `origins`: which other origins may read. `port`: 0 takes a free one. `faults`: what is done wrong, by the end of
 *   a path: a status, `page` (HTML whatever is asked for), `truncated`, or `slow` (it never ends).
 * @returns `{url, close, requests, cancelled}`.
 */
export async function serve(
  mounts,
  { isolated = false, uploads = null, port = 0, faults = {}, origins = '' } = {},
) {
  const requests = [];
  const cancelled = [];
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const [, mount, ...rest] = pathname.split('/').map(decodeURIComponent);
    requests.push(pathname);
    const root = mounts[mount];
    const file = root && path.resolve(root, ...rest);
    if (!file || !(file + path.sep).startsWith(path.resolve(root) + path.sep)) {
      return response.writeHead(404).end();
    }
    if (request.method === 'PUT' && uploads && mounts[mount] === uploads) {
      fs.mkdirSync(path.dirname(file), { recursive: true });
      return request.pipe(fs.createWriteStream(file)).on('finish', () => response.end());
    }
    const fault = Object.entries(faults).find(([end]) => pathname.endsWith(end))?.[1];
    const name =
      fs.existsSync(file) && fs.statSync(file).isDirectory() ? `${file}/index.html` : file;
    if (!fs.existsSync(name)) return response.writeHead(404).end();
    if (typeof fault === 'number') return response.writeHead(fault).end();
    const headers = { 'Content-Type': TYPES[path.extname(name)] ?? 'application/octet-stream' };
    if (origins) headers['Access-Control-Allow-Origin'] = origins;
    if (isolated) {
      headers['Cross-Origin-Opener-Policy'] = 'same-origin';
      headers['Cross-Origin-Embedder-Policy'] = 'require-corp';
    }
    const data = fs.readFileSync(name);
    if (fault === 'page')
      return response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>');
    if (fault === 'slow') {
      // A browser may wait for seconds for the rest of what it gave up, to use a connection again.
      headers.Connection = 'close';
      response.writeHead(200, { ...headers, 'Content-Length': data.length });
      response.write(data.subarray(0, data.length / 2));
      response.on('close', () => cancelled.push(pathname));
      return undefined;
    }
    if (fault === 'truncated') {
      // As many bytes as promised never come.
      response.writeHead(200, { ...headers, 'Content-Length': data.length });
      response.write(data.subarray(0, data.length / 2), () => response.destroy());
      return undefined;
    }
    response.writeHead(200, headers).end(data);
    return undefined;
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  const close = () =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(resolve);
    });
  return { url, close, requests, cancelled };
}
