import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { backUp, restore } from '#host/backup.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';

const BIN = join(import.meta.dirname, '../../client/bin.js');
const silent = () => undefined;

let folder: string;
let porthole: TestHost;
let file: string;
let run: { run_id: string; sandbox_id: string };

/** `porthole` as people run it. */
function command(words: readonly string[], dataDir: string) {
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const env = { PATH: process.env['PATH'] ?? '', PORTHOLE_DATA_DIR: dataDir };
    execFile(process.execPath, [BIN, ...words], { env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'porthole-backup-'));
  porthole = await startTestHost();
  run = (await porthole.call('POST', '/api/runs')).json();
  await porthole.call('PUT', `/v1/sandbox/${run.sandbox_id}/file/workspace/notes.txt`, { body: 'kept' });
  const workspace = join(porthole.dataDir, 'sandboxes', run.sandbox_id, 'workspace');
  await symlink('/etc/passwd', join(workspace, 'link'));
  await mkdir(join(workspace, 'channel'));
  await writeFile(join(workspace, 'channel/mine.txt'), 'mine');
  file = await backUp(porthole.dataDir, folder, silent);
});
afterAll(async () => {
  await porthole?.end();
  await rm(folder, { recursive: true, force: true });
});

test('writes one file for its owner alone, while the host runs', async () => {
  expect(file).toMatch(/\/porthole-[\d-]+T[\d-]+Z\.tar$/);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toHaveLength(1);
  expect((await porthole.call('GET', `/api/runs/${run.run_id}`)).status).toBe(200);
});

test('refuses to overwrite a file, and to back up what is no data folder', async () => {
  expect(await command(['backup', file], porthole.dataDir)).toMatchObject({
    code: 1,
    stderr: `${file} already exists. Name another file, or remove it.\n`,
  });
  const { code, stderr } = await command(['backup', join(folder, 'other.tar')], folder);
  expect([code, stderr]).toEqual([1, expect.stringContaining(`${folder} holds no records of Porthole`)]);
  expect(await command(['backup'], folder)).toMatchObject({ code: 2 });
});

test('refuses a folder that does not exist', async () => {
  expect(await command(['backup', `${join(folder, 'missing')}/`], porthole.dataDir)).toMatchObject({
    code: 1,
    stderr: `${join(folder, 'missing')} is not a folder. Create it first.\n`,
  });
});

test('refuses to restore into the folder of a running host', async () => {
  const { code, stderr } = await command(['restore', file], porthole.dataDir);
  expect([code, stderr]).toEqual([1, expect.stringContaining('Another Porthole already uses')]);
});

test('refuses to restore over data', async () => {
  const taken = join(folder, 'taken');
  await mkdir(taken);
  await writeFile(join(taken, 'signing-keys.json'), '{}');
  const { code, stderr } = await command(['restore', file], taken);
  expect([code, stderr]).toEqual([1, expect.stringContaining('already holds signing-keys.json')]);
  expect(await readFile(join(taken, 'signing-keys.json'), 'utf8')).toBe('{}');
});

/** Offset of the last entry's header. */
function lastEntry(tar: Buffer): number {
  return tar.lastIndexOf('ustar') - 257;
}

test.each([
  ['in a file', (tar: Buffer) => tar.subarray(0, 20_000)],
  ['between two files', (tar: Buffer) => tar.subarray(0, lastEntry(tar))],
])('refuses a file that is cut off %s, and leaves nothing of it', async (where, cutOff) => {
  const into = join(folder, `cut ${where}`);
  const cut = `${into}.tar`;
  await writeFile(cut, cutOff(await readFile(file)));
  await expect(restore(cut, into, silent)).rejects.toThrow(`${cut} is not a whole backup`);
  await expect(stat(into)).rejects.toMatchObject({ code: 'ENOENT' });
  await mkdir(into);
  await expect(restore(cut, into, silent)).rejects.toThrow(`${cut} is not a whole backup`);
  expect(await readdir(into)).toEqual([]);
});

test('restores runs, files, keys and URLs elsewhere', async () => {
  const { preview_url: url } = await startedPreview();
  const checkpoints = `/v1/sandbox/${run.sandbox_id}/checkpoints`;
  const { id: checkpoint } = (await porthole.call('POST', checkpoints, { body: {} })).json<{ id: string }>();
  const later = await command(['backup', join(folder, 'later.tar')], porthole.dataDir);
  expect(later).toEqual({ code: 0, stdout: `${join(folder, 'later.tar')}\n`, stderr: '' });
  const into = join(folder, 'restored');
  const { code, stdout, stderr } = await command(['restore', join(folder, 'later.tar')], into);
  if (code !== 0) throw new Error(stderr);
  expect(stdout).toBe(`${into}\n`);
  expect(await readFile(join(into, 'signing-keys.json'), 'utf8')).toBe(
    await readFile(join(porthole.dataDir, 'signing-keys.json'), 'utf8'),
  );
  const restored = await startTestHost({}, { dataDir: into });
  try {
    await restored.host.recovered;
    const read = (path: string) =>
      restored.call('GET', `/v1/sandbox/${run.sandbox_id}/file/workspace/${path}`);
    expect((await read('notes.txt')).text).toBe('kept');
    expect((await read('channel/mine.txt')).text).toBe('mine');
    // The declared server starts again with the sandbox.
    await restored.call('POST', `/v1/sandbox/${run.sandbox_id}/ports/3000/wait`, {
      body: { timeout_ms: 30_000 },
    });
    expect((await restored.call('GET', '/', { host: new URL(url).host })).text).toBe('served');
    expect((await exec(restored, ['readlink', 'link'])).stdout).toBe('/etc/passwd\n');
    await exec(restored, ['rm', 'notes.txt']);
    await restored.call('POST', `${checkpoints}/${checkpoint}/restore`, { body: {} });
    expect((await read('notes.txt')).text).toBe('kept');
  } finally {
    await restored.end();
  }
});

async function exec(host: TestHost, argv: readonly string[]): Promise<{ stdout: string }> {
  const headers = { accept: 'application/json' };
  return (await host.call('POST', `/v1/sandbox/${run.sandbox_id}/exec`, { body: { argv }, headers })).json();
}

async function startedPreview(): Promise<{ preview_url: string }> {
  const script = `require('node:http').createServer((_, res) => res.end('served')).listen(3000)`;
  const argv = ['node', '-e', script];
  await porthole.call('PUT', `/v1/sandbox/${run.sandbox_id}/servers/web`, { body: { argv, port: 3000 } });
  const opened = await porthole.call('POST', `/api/runs/${run.run_id}/sandbox/port-forward`, {
    body: { target_port: 3000 },
  });
  return opened.json();
}
