/** Calls of a real guest that listens on a port, as in a pod. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createGuestKeys, deriveKeySet } from '#protocol/guest/key-set.ts';
import { type Jwks } from '#protocol/settings/shared-values.ts';
import { collection, PODS } from '#adapters/kubernetes/client/kubernetes-object.ts';
import type { RunningPod } from '#adapters/kubernetes/sandboxes/pod-state.ts';
import { PodGuests } from '#adapters/kubernetes/sandboxes/pod-guests.ts';
import { GuestClient } from '#adapters/guest/guest-client.ts';
import { type Guest, serveGuest } from '#guest/serve-guest.ts';
import { type FakeStreams, fakeStreams } from '../fake-streams.ts';

const key = (kid: string, byte: number): Jwks['keys'][number] => ({
  kty: 'oct',
  kid,
  k: Buffer.alloc(32, byte).toString('base64url'),
});
const OLD = key('old', 1);
const NEW = key('new', 2);
const guestKeysOf = (keys: Jwks['keys'], now = () => new Date()) =>
  createGuestKeys(deriveKeySet({ keys }), now);

describe('the guest in a pod', () => {
  let cluster: FakeStreams;
  let folder: string;
  let guest: Guest;
  let port: number;
  let pod: RunningPod;

  beforeAll(async () => {
    cluster = await fakeStreams();
    folder = mkdtempSync(join(tmpdir(), 'porthole-pod-guest-'));
    const workspace = join(folder, 'workspace');
    mkdirSync(workspace);
    process.env['PORTHOLE_POD_UID'] = 'uid-1';
    process.env['FROM_THE_IMAGE'] = 'yes';
    const guestKeys = guestKeysOf([OLD]).publicKeys;
    guest = await serveGuest({
      env: { PATH: process.env['PATH'] ?? '' },
      inherit: true,
      workspace,
      state: join(folder, 'state'),
      listen: { port: 0, host: '127.0.0.1', key: guestKeys, audience: 'uid-1' },
      version: '0',
    });
    ({ port } = guest.server.address() as AddressInfo);
    pod = {
      name: 'box',
      uid: 'uid-1',
      address: '127.0.0.1',
      guestKeys,
    };
  });
  afterAll(async () => {
    guest.server.close();
    await cluster.close();
    rmSync(folder, { recursive: true });
  });

  const guests = (keys = guestKeysOf([OLD])) =>
    new PodGuests({
      keys,
      reach: 'address',
      port,
      streams: cluster.streams,
      pods: collection(PODS, 'ns'),
    });
  const run = async (client: GuestClient, argv: readonly [string, ...string[]]) => {
    const command = await client.exec({ argv });
    // A guest in jest's process hears of no signals.
    const ending = setInterval(() => process.emit('SIGCHLD', 'SIGCHLD'), 10);
    try {
      let said = '';
      for await (const chunk of command.stdout) said += String(chunk);
      command.stderr.resume();
      return { said, ...(await command.exited) };
    } finally {
      clearInterval(ending);
    }
  };

  test('answers and runs commands for the functions, also once they sign with a newer key', async () => {
    await guests().ready('box', pod, AbortSignal.timeout(5_000));
    for (const keys of [[OLD], [NEW, OLD]]) {
      expect(await run(await guests(guestKeysOf(keys)).client('box', pod), ['echo', 'hi'])).toEqual({
        said: 'hi\n',
        code: 0,
      });
    }
  });

  test('names why the guest of a pod does not answer in time', async () => {
    const silent = { ...pod, address: '127.0.0.2' };
    await expect(guests().ready('box', silent, AbortSignal.timeout(300))).rejects.toMatchObject({
      code: 'sandbox_not_running',
      message: expect.stringContaining('its guest does not answer (Sandbox box: its guest does not listen.'),
    });
  });

  test('gives commands its own environment, without what is for the guest alone', async () => {
    const { said } = await run(await guests().client('box', pod), ['env']);
    expect(said).toContain('FROM_THE_IMAGE=yes\n');
    expect(said).not.toContain('PORTHOLE_POD_UID');
  });

  test('tells commands the sandbox that the functions call it by', async () => {
    for (const id of ['first', 'second']) {
      expect((await run(await guests().client(id, pod), ['printenv', 'SANDBOX_ID'])).said).toBe(`${id}\n`);
    }
  });

  test('is not called in a pod that runs none', async () => {
    const { guestKeys: _, ...bare } = pod;
    await expect((await guests().client('box', bare)).health()).rejects.toThrow(/runs no guest/);
  });

  test('is not called where the functions have none of its keys', async () => {
    const strangers = guests(guestKeysOf([NEW]));
    await expect((await strangers.client('box', pod)).health()).rejects.toMatchObject({
      code: 'sandbox_not_running',
    });
  });

  test.each<[string, (operation: string) => string | undefined]>([
    ['no token', () => undefined],
    ['a token for another operation', () => sign('GET /v1/exec')],
    ['a token for another pod', (operation) => sign(operation, 'uid-2')],
    ['a token that has expired', (operation) => sign(operation, 'uid-1', -91)],
    ['a token of the future', (operation) => sign(operation, 'uid-1', 60)],
    [
      'a token of another key',
      (operation) => guestKeysOf([NEW]).sign(guestKeysOf([NEW]).publicKeys, { audience: 'uid-1', operation }),
    ],
    ['a token with changed claims', (operation) => forge(sign(operation, 'uid-2'))],
    ['an unsigned token', (operation) => sign(operation).replace(/\.[^.]*$/, '.')],
  ])('refuses %s', async (_title, tokenOf) => {
    const real = guests();
    const client = new GuestClient({
      sandboxId: 'box',
      connect: async (operation) => {
        const token = tokenOf(operation);
        const headers = { authorization: token === undefined ? '' : `Bearer ${token}` };
        return { stream: connect(port, '127.0.0.1'), headers };
      },
    });
    await expect(client.health()).rejects.toThrow(/no valid token/);
    await expect(client.dial(port)).rejects.toThrow(/no valid token/);
    expect((await (await real.client('box', pod)).health()).protocol).toBe(1);
  });

  function sign(operation: string, audience = 'uid-1', secondsFromNow = 0): string {
    const keys = guestKeysOf([OLD], () => new Date(Date.now() + secondsFromNow * 1_000));
    return keys.sign(keys.publicKeys, { audience, operation }) ?? '';
  }

  function forge(token: string): string {
    const [header, payload = '', signature] = token.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    const changed = Buffer.from(JSON.stringify({ ...claims, aud: 'uid-1' })).toString('base64url');
    return [header, changed, signature].join('.');
  }
});
