import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ALICE, BOB, PEOPLE } from '#test/host/support/people.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { connectFromConfig, Porthole, readSandboxConfig } from '../../client/index.ts';
import { holdsSecret, secretsOf } from '../../client/server/secret-guard.ts';
import type { Sandbox } from '../../client/resources/sandbox.ts';

describe('delegations of the client', () => {
  let host: TestHost;
  let url: string;
  let sandbox: Sandbox;
  const connect = (config: unknown) =>
    connectFromConfig(config, { allowedUrl: url, serverKey: ALICE, org: 'acme' });

  beforeAll(async () => {
    host = await startTestHost(PEOPLE);
    url = `http://127.0.0.1:${host.host.port}`;
    sandbox = await new Porthole({ url, apiKey: ALICE }).sandboxes.create();
  });
  afterAll(() => host.end());

  test('is what it says, is listed, renewed, and revoked', async () => {
    const before = Date.now();
    const delegation = await sandbox.delegate({
      scopes: ['exec'],
      commands: ['echo'],
      ttlSeconds: 60,
      label: 'me',
    });
    expect(delegation.expiresAt.getTime() - before).toBeLessThanOrEqual(61_000);
    expect(await sandbox.delegations.list()).toMatchObject([
      { delegation_id: delegation.id, scopes: ['exec'], commands: ['echo'], label: 'me', renewable: true },
    ]);
    const { sandbox: delegated, tools, validation } = await connect(delegation.sandboxConfig());
    expect(tools.map(({ name }) => name)).toEqual(['exec_command']);
    expect(tools[0]?.description).toContain('Only these programs, given as a list of words: echo.');
    expect(await tools[0]?.run({ command: ['echo', 'hi'] })).toEqual({
      text: 'exit code 0\nstdout:\nhi\n',
      isError: false,
    });
    expect(await tools[0]?.run({ command: 'echo hi' })).toMatchObject({ isError: true, code: 'forbidden' });
    expect(validation).toMatchObject({ valid: true, owner: false, scopes: ['exec'], commands: ['echo'] });
    expect(await delegated.exec(['echo', 'hi']).text()).toBe('hi\n');
    await expect(delegated.exec(['ls']).text()).rejects.toMatchObject({ status: 403, code: 'forbidden' });
    await expect(delegated.files.text('a')).rejects.toMatchObject({ status: 403 });

    const first = delegation.expiresAt;
    await delegation.renew();
    expect(delegation.expiresAt.getTime()).toBeGreaterThanOrEqual(first.getTime());
    expect(await delegated.exec(['echo', 'still']).text()).toBe('still\n');

    await delegation.revoke();
    await expect(delegated.exec(['echo', 'hi']).text()).rejects.toMatchObject({ status: 401 });
    await expect(connect(delegation.sandboxConfig())).rejects.toMatchObject({ code: 'sandbox_refused' });
    expect(await sandbox.delegations.list()).toEqual([]);
  });

  test('may be the sandbox’s own token, which is rotated', async () => {
    const { sandbox: delegated } = await connect(sandbox.sandboxConfig());
    await delegated.files.write('a', 'written by another');
    expect(await sandbox.files.text('a')).toBe('written by another');
    const token = await sandbox.rotateToken();
    expect(sandbox.sandboxConfig().configurable.sandbox.credential).toBe(token);
    await expect(delegated.files.text('a')).rejects.toMatchObject({ status: 401 });
  });

  test('is shown in no error and no log', async () => {
    const delegation = await sandbox.delegate({ scopes: ['fs:read'] });
    const { sandbox: delegated } = await connect(delegation.sandboxConfig());
    const error = (await delegated.stop().catch((refusal: unknown) => refusal)) as Error;
    expect(error.message).not.toContain(delegation.token);
    expect(JSON.stringify([delegation, delegated])).not.toContain(delegation.token);
    expect(host.logged.join('')).not.toContain(delegation.token);
  });

  test('is refused by a server of another org', async () => {
    const delegation = await sandbox.delegate({ scopes: ['fs:read'] });
    const options = { allowedUrl: url, serverKey: BOB, org: 'globex' };
    await expect(connectFromConfig(delegation.sandboxConfig(), options)).rejects.toMatchObject({
      code: 'sandbox_refused',
    });
    await expect(
      connectFromConfig(delegation.sandboxConfig(), { allowedUrl: url, serverKey: BOB }),
    ).rejects.toThrow('org is required with serverKey');
  });
});

describe('a run’s configuration', () => {
  const sandbox = { sandbox_id: 'abc', credential: 'c', dataplane_url: 'http://p.test/v1/sandbox/abc' };

  test.each([
    ['the sandbox itself', sandbox],
    ['from configurable on', { configurable: { sandbox } }],
    ['whole', { config: { configurable: { sandbox, other: 1 } } }],
    [
      'with the older name of the credential',
      { sandbox_id: 'abc', sandbox_credential: 'c', dataplane_url: sandbox.dataplane_url },
    ],
  ])('is read %s', (_, config) => {
    expect(readSandboxConfig(config)).toEqual(sandbox);
  });

  test.each([
    ['nothing', null, 'sandbox_id'],
    ['an id that would be a path', { ...sandbox, sandbox_id: '../runs' }, 'sandbox_id'],
    ['no URL', { ...sandbox, dataplane_url: 'porthole' }, 'dataplane_url'],
    ['a credential of two lines', { ...sandbox, credential: 'secret\nX-Other: 1' }, 'credential'],
    ['no credential', { ...sandbox, credential: undefined }, 'credential'],
  ])('is refused with %s', (_, config, field) => {
    expect(() => readSandboxConfig(config)).toThrow(`configurable.sandbox.${field} must be`);
    expect(() => readSandboxConfig(config)).not.toThrow('secret');
  });

  test.each([
    'http://evil.test/v1/sandbox/abc',
    'https://p.test/v1/sandbox/abc',
    'http://p.test:81/v1/sandbox/abc',
    'http://p.test@evil.test/v1/sandbox/abc',
    'http://user@p.test/v1/sandbox/abc',
    'http://p.test/v1/sandbox/abcd',
    'http://p.test/v1/sandbox/abc?x=1',
    'http://p.test/v1/sandbox/abc/',
    'file:///v1/sandbox/abc',
  ])('leads nowhere else: %s', async (dataplane_url) => {
    const fetch = () => Promise.reject(new Error('called'));
    const connected = connectFromConfig(
      { ...sandbox, dataplane_url },
      { allowedUrl: 'http://p.test', fetch },
    );
    await expect(connected).rejects.toMatchObject({ code: 'dataplane_url_refused' });
  });
});

describe('secrets of a server', () => {
  test('are known by the names of their variables', () => {
    const environment = {
      OPENAI_API_KEY: 'sk-0123456789',
      PATH: '/usr/bin:/bin',
      GITHUB_TOKEN: 'short',
      HOME: undefined,
    };
    expect(secretsOf(environment)).toEqual(['sk-0123456789']);
  });

  test.each([
    ['as they are', 'a s3cr3t/value+1 b', true],
    ['percent-encoded', encodeURIComponent('s3cr3t/value+1'), true],
    ['in hexadecimal', Buffer.from('s3cr3t/value+1').toString('hex'), true],
    ['in base64', Buffer.from('s3cr3t/value+1').toString('base64'), true],
    ['in base64, after one byte', Buffer.from('xs3cr3t/value+1yz').toString('base64'), true],
    ['in base64url, after two bytes', Buffer.from('xys3cr3t/value+1z').toString('base64url'), true],
    ['in part', 'a s3cr3t/val', false],
  ])('are found %s', (_, text, found) => {
    expect(holdsSecret(text, ['s3cr3t/value+1'])).toBe(found);
  });

  test('are not looked for where they are too short to be any', () => {
    expect(holdsSecret('a word', ['word'])).toBe(false);
  });
});
