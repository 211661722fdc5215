import { execFile } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type BuiltHost, builtHost, HOST_INPUTS } from '#host/built-host.ts';
import { ROOT } from '../../build/root.ts';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';

/** Of the bundle itself; each takes about a millisecond of the start. */
const MAX_FILES = 12;

/** Prints the names of the bundle's modules as they are loaded. */
const mainOf = (bundle: string | undefined) => `import { registerHooks } from 'node:module';
registerHooks({
  load(url, context, next) {
    const name = /\\/chunks\\/(.*)-.{8}\\.mjs$/.exec(url)?.[1];
    if (name !== undefined) process.stdout.write('loaded ' + name + '\\n');
    return next(url, context);
  },
});
await (await import(${JSON.stringify(bundle)})).run(performance.now());
`;

describe('the bundled host', () => {
  // In the project, because it loads packages from there.
  const folder = join(ROOT, `dist/host-test-${process.pid}`);
  let dataDir: string;
  let host: HostProcess;
  const before: BuiltHost = { folder: 'before', inputs: [] };

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'porthole-bundled-'));
    for (const name of ['older', 'before']) mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, HOST_INPUTS), JSON.stringify(before));
    const bundle = join(ROOT, 'build/bundle-host.ts');
    const script = `await (await import(${JSON.stringify(bundle)})).bundleHost(${JSON.stringify(folder)})`;
    const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script];
    await promisify(execFile)(process.execPath, flags);
    const main = join(folder, 'main.mjs');
    writeFileSync(main, mainOf(builtHost(folder)));
    host = await startHostProcess({ dataDir, main });
  });
  afterAll(async () => {
    await host.end();
    rmSync(folder, { recursive: true });
    rmSync(dataDir, { recursive: true });
  });

  const call = (path: string, body?: object, method = body === undefined ? 'GET' : 'POST') =>
    fetch(`http://127.0.0.1:${host.port}${path}`, {
      method,
      ...(body !== undefined && {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
    });

  test('starts from few files, and loads a route at its first request', async () => {
    const loaded = () => host.output().match(/^loaded .*$/gm) ?? [];
    const routes = () => [...new Set(loaded().filter((line) => /-routes?$/.test(line)))];
    expect(routes()).toEqual([]);
    expect(loaded().length).toBeLessThan(MAX_FILES);
    const health = await call('/health');
    expect(health.status).toBe(200);
    expect(routes()).toEqual(['loaded ops-routes']);
  });

  test('runs a command in a sandbox, and sends its folder as zip', async () => {
    const { id } = (await (await call('/v1/sandbox', {})).json()) as { id: string };
    const done = await call(`/v1/sandbox/${id}/exec`, { argv: ['sh', '-c', 'echo hi | tee file'] });
    expect(await done.text()).toContain(Buffer.from('hi\n').toString('base64'));
    const zip = await call(`/v1/sandbox/${id}/archive?format=zip`);
    expect([zip.status, zip.headers.get('content-type')]).toEqual([200, 'application/zip']);
    expect((await zip.arrayBuffer()).byteLength).toBeGreaterThan(100);
    expect((await call(`/v1/sandbox/${id}`, undefined, 'DELETE')).status).toBeLessThan(300);
  });

  test('describes its routes', async () => {
    const described = (await (await call('/v1/openapi.json')).json()) as { paths: object };
    expect(Object.keys(described.paths).length).toBeGreaterThan(50);
  });

  test('stays beside the build before it, which a host may run', () => {
    const { folder: name } = JSON.parse(readFileSync(join(folder, HOST_INPUTS), 'utf8')) as BuiltHost;
    expect(readdirSync(folder).toSorted()).toEqual(['before', HOST_INPUTS, 'main.mjs', name].toSorted());
  });

  test('is used until one of its sources changes', () => {
    expect(builtHost(folder)).toContain('run.mjs');
    utimesSync(join(folder, HOST_INPUTS), 1, 1);
    expect(builtHost(folder)).toBeUndefined();
  });

  test('is not used where a source is gone, or nothing is built', () => {
    const gone: BuiltHost = { ...before, inputs: ['host/gone.ts'] };
    writeFileSync(join(folder, HOST_INPUTS), JSON.stringify(gone));
    expect(builtHost(folder)).toBeUndefined();
    expect(builtHost(join(folder, 'nothing'))).toBeUndefined();
  });
});
