/** A guest after code in the sandbox has replaced its files. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { guestHealth } from '#protocol/guest/answers.ts';
import { AUTHORITY_VARIABLE, NETWORK } from '#protocol/guest/network.ts';
import { openPreviewsAnswer } from '#protocol/guest/previews-protocol.ts';
import { serverInfo, serverList } from '#protocol/guest/servers-protocol.ts';
import { bytes, until } from '#test/contracts/sandbox-provider.contract.ts';
import { guestProcessesOf } from '#test/guest/support/guest-processes.ts';
import { GuestProcess } from '#test/guest/support/guest-process.ts';

const PLANTS: readonly [string, (path: string) => void][] = [
  ['a pipe', (path) => execFileSync('mkfifo', [path])],
  ['a link to a device without an end', (path) => symlinkSync('/dev/zero', path)],
  [
    'a file larger than the memory',
    (path) => {
      writeFileSync(path, '');
      truncateSync(path, 2 ** 42);
    },
  ],
  ['a folder', (path) => mkdirSync(join(path, 'in/it'), { recursive: true })],
];

let guest: GuestProcess;
let processId: string;
beforeEach(async () => {
  guest = await GuestProcess.start();
  const server = { argv: ['sh', '-c', 'echo $SECRET; exec sleep 600'], sandbox_env: { SECRET: 'kept' } };
  await guest.client.json('PUT', '/v1/servers/web', serverInfo, { body: server });
  const api = guestProcessesOf(guest.client);
  ({ id: processId } = await api.start({ command: 'echo printed' }));
  await api.wait(processId);
});
afterEach(() => guest.stop());

const state = (...names: string[]) => join(guest.folder, 'state', ...names);
const ringOf = (folder: string) =>
  join(folder, readdirSync(folder).find((name) => name.endsWith('.out')) ?? '');
const places = (): string[] => [
  join(guest.workspace, '.porthole/servers.json'),
  join(guest.workspace, '.porthole/servers.json.new'),
  state('servers', 'web.environment.json'),
  state('servers', 'web.environment.json.new'),
  ringOf(state('servers', 'web')),
  state('processes', processId, 'process.json'),
  ringOf(state('processes', processId)),
];

test.each(PLANTS)('starts and works with %s in the place of any of its files', async (_what, plant) => {
  const all = places();
  for (const path of all) {
    await guest.kill();
    mkdirSync(dirname(path), { recursive: true });
    rmSync(path, { recursive: true, force: true });
    plant(path);
    await guest.start();
    expect(await guest.client.json('GET', '/v1/health', guestHealth)).toMatchObject({ workspace: true });
    await guest.client.json('GET', '/v1/servers', serverList);
    const api = guestProcessesOf(guest.client);
    const { id } = await api.start({ command: 'echo works' });
    expect(await api.wait(id)).toMatchObject({ exit: { code: 0 } });
    await api.output(processId).catch(() => undefined);
  }
});

test('goes on while the next file of a ring is a pipe without a reader', async () => {
  const api = guestProcessesOf(guest.client);
  const { id } = await api.start({
    command: 'sleep 0.5; yes | head -c 100000; echo end',
    output_bytes: 65_536,
  });
  const folder = state('processes', id);
  rmSync(folder, { recursive: true });
  mkdirSync(folder);
  execFileSync('mkfifo', [join(folder, '0000000000000000.out')]);
  expect(await api.wait(id)).toMatchObject({ exit: { code: 0 } });
});

test('answers the host while code inside holds as many connections as it can', async () => {
  execFileSync('prlimit', ['--pid', String(guest.pid), '--nofile=512']);
  const flood = `const { connect } = require('net');
    const again = () => connect(process.env.PORTHOLE_GUEST).on('error', () => {}).on('close', again);
    for (let count = 0; count < 400; count += 1) again();
    for (let count = 0; count < 400; count += 1) connect(process.env.PORTHOLE_GUEST).on('error', () => {});
    setTimeout(() => console.log('flooded'), 500);`;
  const flooding = await guest.client.exec({ argv: ['node', '-e', flood] });
  flooding.stderr.resume();
  await until(flooding.stdout, 'flooded');
  flooding.stdout.resume();
  for (let round = 0; round < 20; round += 1) {
    const command = await guest.client.exec({ argv: ['echo', 'works'] });
    expect([(await bytes(command.stdout)).toString(), await command.exited]).toEqual([
      'works\n',
      { code: 0 },
    ]);
  }
  flooding.kill('SIGKILL');
});

describe('a guest in a pod', () => {
  const pod = { network: true, previews: { port: 0 } } as const;
  const authority = '-----BEGIN CERTIFICATE-----\nb3du\n-----END CERTIFICATE-----\n';
  const preview = {
    host: 'a.previews.example.net',
    run: 'run_1',
    expires_at: '2100-01-01T00:00:00.000Z',
    frame_ancestors: [],
  };

  beforeEach(async () => {
    await guest.stop();
    guest = await GuestProcess.start(pod);
  });

  test.each(PLANTS)('starts and works with %s in the place of any of its files', async (_what, plant) => {
    const { certificatesName } = NETWORK;
    const names = ['broker', 'broker.new', certificatesName, `${certificatesName}.new`];
    const previews = join(guest.workspace, '.porthole/previews.json');
    for (const path of [...names.map((name) => state(name)), previews, `${previews}.new`]) {
      await guest.client.json('GET', '/v1/health', guestHealth);
      await guest.kill();
      mkdirSync(dirname(path), { recursive: true });
      rmSync(path, { recursive: true, force: true });
      plant(path);
      await guest.start();
      const env = { [AUTHORITY_VARIABLE]: authority };
      const { stdout, exited } = await guest.client.exec({ argv: ['echo', 'works'], env });
      expect([(await bytes(stdout)).toString(), await exited]).toEqual(['works\n', { code: 0 }]);
      const opened = { body: preview };
      expect(await guest.client.json('PUT', '/v1/previews/3000', openPreviewsAnswer, opened)).toMatchObject({
        previews: [{ port: 3000 }],
      });
    }
  });
});
