import { describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type Answer } from '#test/support/in-process-host.ts';
import { execute } from './support/commands.ts';
import { openEventStream } from './support/event-stream.ts';
import { ALICE } from './support/people.ts';
import { makeRun, outcome } from './support/runs.ts';
import { openTerminal } from './support/terminals.ts';
import {
  asOwner,
  box,
  type Credential,
  delegate,
  exec,
  porthole,
  useDelegationHost,
} from './support/delegations.ts';

useDelegationHost();
const read = (token: string, path: string): Promise<Answer> =>
  porthole.call('GET', `/v1/sandbox/${box.id}/file/workspace/${path}`, { token });
const write = (token: string, path: string, body = 'new'): Promise<Answer> =>
  porthole.call('PUT', `/v1/sandbox/${box.id}/file/workspace/${path}`, { token, body });

describe('a delegation', () => {
  test('is returned with its credential once, and listed without it', async () => {
    const made = await delegate({
      scopes: ['fs:read'],
      paths: ['src', '/workspace/src/'],
      label: 'the reader',
    });
    expect(Date.parse(made.expires_at) - Date.now()).toBeGreaterThan(3_590_000);
    const answer = await asOwner('GET', `/v1/sandbox/${box.id}/delegations`);
    const listed = answer
      .json<{ delegations: Record<string, unknown>[] }>()
      .delegations.find(({ delegation_id }) => delegation_id === made.delegation_id);
    expect(listed).toEqual({
      delegation_id: made.delegation_id,
      scopes: ['fs:read'],
      commands: null,
      paths: ['/workspace/src'],
      label: 'the reader',
      renewable: true,
      created_at: expect.stringMatching(/Z$/) as unknown,
      expires_at: made.expires_at,
    });
    expect(answer.text).not.toContain(made.token);
    expect(porthole.logged.join('')).not.toContain(made.token);
  });

  test.each<[string, object, string]>([
    ['no scope', { scopes: [] }, 'scopes: name at least one of fs:read, fs:write, exec'],
    ['an unknown scope', { scopes: ['fs'] }, 'scopes.0'],
    ['a scope twice', { scopes: ['exec', 'exec'] }, 'each scope once'],
    ['a misspelt limit', { scopes: ['fs:read'], path: ['/workspace/a'] }, 'path'],
    ['paths with exec', { scopes: ['exec', 'fs:read'], paths: ['a'] }, 'paths cannot be combined'],
    ['commands without exec', { scopes: ['fs:read'], commands: ['ls'] }, 'needs the scope exec'],
    [
      'a path elsewhere',
      { scopes: ['fs:read'], paths: ['/etc'] },
      'is not below /workspace: only paths in /workspace can be delegated',
    ],
    ['a path of two lines', { scopes: ['fs:read'], paths: ['a\nb'] }, 'must not contain a control character'],
    ['no command', { scopes: ['exec'], commands: [] }, 'name at least one, or leave it out'],
    ['two days', { scopes: ['exec'], ttl_seconds: 172_800 }, 'must be at most 86400, a day'],
    ['no time', { scopes: ['exec'], ttl_seconds: 0 }, 'must be at least 1'],
  ])('is not made with %s', async (_what, body, message) => {
    const before = (await asOwner('GET', `/v1/sandbox/${box.id}/delegations`)).text;
    const answer = await asOwner('POST', `/v1/sandbox/${box.id}/delegate`, body);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(message)]);
    expect((await asOwner('GET', `/v1/sandbox/${box.id}/delegations`)).text).toBe(before);
  });

  test('runs only its listed commands, by their exact names, and nothing that could change them', async () => {
    const { token } = await delegate({ scopes: ['exec', 'fs:write'], commands: ['echo', 'ls'] });
    expect((await exec(token, ['echo', 'hi; id'])).json()).toMatchObject({
      exit_code: 0,
      stdout: 'hi; id\n',
    });
    expect((await exec(token, ['ls'], { cwd: '/workspace/src' })).json()).toMatchObject({
      stdout: 'a.txt\n',
    });
    for (const argv of [['sh', '-c', 'echo'], ['/bin/echo'], ['echo '], ['env', 'echo'], ['eval', 'echo']]) {
      expect(outcome(await exec(token, argv))).toEqual([403, 'forbidden']);
    }
    expect(outcome(await exec(token, ['ls'], { cwd: '/etc' }))).toEqual([403, 'invalid_request']);
    expect(outcome(await exec(token, ['ls'], {}, { 'session-id': 'mine' }))).toEqual([403, 'forbidden']);
    const session = await porthole.call('POST', `/v1/sandbox/${box.id}/session`, {
      token,
      body: { env: { PATH: '/workspace' } },
    });
    expect(outcome(session)).toEqual([403, 'forbidden']);
    const body = { argv: ['ls'], env: { PATH: '/workspace/src' } };
    for (const [method, path] of [
      ['POST', 'processes'],
      ['PUT', 'servers/web'],
    ] as const) {
      const answer = await porthole.call(method, `/v1/sandbox/${box.id}/${path}`, { token, body });
      expect(outcome(answer)).toEqual([403, 'forbidden']);
    }
    expect((await write(token, 'src/of-commands.txt')).status).toBe(200);
  });

  test('names some of its commands in a refusal when it has many', async () => {
    const commands = Array.from({ length: 64 }, (_, at) => `${at}-${'c'.repeat(3_000)}`);
    const { token } = await delegate({ scopes: ['exec'], commands });
    const refused = await exec(token, ['id']);
    expect(outcome(refused)).toEqual([403, 'forbidden']);
    expect(refused.text.length).toBeLessThan(3_000);
    expect(refused.text).toContain(', …, by exactly these names.');
  });

  test('reads and writes only its listed paths, wherever links lead', async () => {
    await execute(
      porthole,
      box.id,
      ['sh', '-c', 'ln -s ../other src/out; ln -s ../notes.txt src/note; ln -s src in; ln -s a.txt src/same'],
      { token: ALICE },
    );
    const { token } = await delegate({ scopes: ['fs:read', 'fs:write'], paths: ['src', 'new/deep'] });
    for (const path of ['src/a.txt', 'src/same']) expect((await read(token, path)).text).toBe('a');
    expect((await write(token, 'src/made/of/folders.txt')).status).toBe(200);
    expect((await write(token, 'new/deep/er.txt')).status).toBe(200);
    for (const path of [
      'notes.txt',
      'other/b.txt',
      'src/../notes.txt',
      'src%2f..%2fnotes.txt',
      'src2/a.txt',
      'src/out/b.txt',
      'src/note',
      // A link to the delegated folder, which has another name.
      'in/a.txt',
    ]) {
      expect([path, ...outcome(await read(token, path))]).toEqual([path, 403, 'forbidden']);
    }
    for (const path of ['src/out/c.txt', 'src/note', 'src/out/new/c.txt', 'new/c.txt']) {
      expect([path, ...outcome(await write(token, path))]).toEqual([path, 403, 'forbidden']);
    }
    expect((await read(ALICE, 'notes.txt')).text).toBe('notes');
    const list = (path: string) =>
      porthole
        .call('GET', `/v1/sandbox/${box.id}/files?path=${path}`, { token })
        .then(({ status }) => status);
    expect([await list('src'), await list('src/out'), await list('.'), await list('new')]).toEqual([
      200, 403, 403, 403,
    ]);
    const left = await execute(porthole, box.id, ['find', 'other'], { token: ALICE });
    expect(left.stdout.toString()).toBe('other\nother/b.txt\n');
    for (const path of ['persist', 'hydrate']) {
      const answer = await porthole.call('POST', `/v1/sandbox/${box.id}/${path}`, { token });
      expect(outcome(answer)).toEqual([403, 'forbidden']);
    }
  });

  test('goes on with the same credential after a renewal, and not where it was made to end once', async () => {
    const made = await delegate({ scopes: ['exec'], ttl_seconds: 2 });
    const url = `/v1/sandbox/${box.id}/delegations/${made.delegation_id}/renew`;
    const renewed = (await asOwner('POST', url)).json<Credential>();
    expect(renewed).toMatchObject({ token: made.token, delegation_id: made.delegation_id });
    expect(Date.parse(renewed.expires_at)).toBeGreaterThanOrEqual(Date.parse(made.expires_at));
    const once = await delegate({ scopes: ['exec'], renewable: false });
    expect(
      outcome(await asOwner('POST', `/v1/sandbox/${box.id}/delegations/${once.delegation_id}/renew`)),
    ).toEqual([409, 'delegation_not_renewable']);
    for (const id of ['dlg_1', once.delegation_id.toLowerCase()]) {
      const answer = await asOwner('POST', `/v1/sandbox/${box.id}/delegations/${id}/renew`);
      expect(outcome(answer)).toEqual([404, 'delegation_not_found']);
    }
  });

  test('lets no call succeed after its revocation has been answered, however many renew it meanwhile', async () => {
    const made = await delegate({ scopes: ['exec'] });
    const url = `/v1/sandbox/${box.id}/delegations/${made.delegation_id}`;
    const renewals = Array.from({ length: 100 }, () => asOwner('POST', `${url}/renew`));
    expect((await exec(made.token, ['true'])).status).toBe(200);
    expect((await asOwner('DELETE', url)).status).toBe(204);
    const after = await Promise.all(Array.from({ length: 20 }, () => exec(made.token, ['true'])));
    expect(new Set(after.map(({ status }) => status))).toEqual(new Set([401]));
    const statuses = (await Promise.all(renewals)).map(({ status }) => status);
    expect(statuses.filter((status) => status !== 200 && status !== 404)).toEqual([]);
    expect((await exec(made.token, ['true'])).status).toBe(401);
    expect((await asOwner('POST', `${url}/renew`)).status).toBe(404);
    expect((await asOwner('DELETE', url)).status).toBe(404);
  }, 60_000);

  test('takes with it what was begun with it: a command and a terminal', async () => {
    const made = await delegate({ scopes: ['exec'] });
    const terminal = await openTerminal(porthole.host.port, box.id, { token: made.token });
    const stream = await openEventStream(
      porthole.host.port,
      `/v1/sandbox/${box.id}/exec`,
      { authorization: `Bearer ${made.token}`, 'content-type': 'application/json' },
      { argv: ['sh', '-c', 'echo begun; exec sleep 1234'] },
    );
    expect(await stream.next()).toMatchObject({ event: 'stdout' });
    await asOwner('DELETE', `/v1/sandbox/${box.id}/delegations/${made.delegation_id}`);
    expect(await terminal.closed).toBe(1008);
    await expect(stream.next()).rejects.toThrow();
    const { stdout } = await execute(
      porthole,
      box.id,
      [
        'sh',
        '-c',
        'n=0; while pgrep -f "sleep 123[4]" >/dev/null && [ $n -lt 200 ]; do sleep 0.02; n=$((n+1)); done; pgrep -f "sleep 123[4]"; echo none',
      ],
      { token: ALICE },
    );
    expect(stdout.toString()).toBe('none\n');
  });

  test('ends a command that is answered as one document, which says why', async () => {
    const made = await delegate({ scopes: ['exec'] });
    const running = exec(made.token, ['sh', '-c', 'echo >begun; exec sleep 1234']);
    await execute(porthole, box.id, ['sh', '-c', 'until [ -e begun ]; do sleep 0.02; done'], {
      token: ALICE,
    });
    await asOwner('DELETE', `/v1/sandbox/${box.id}/delegations/${made.delegation_id}`);
    const answer = await running;
    expect([...outcome(answer), answer.json<{ error: string }>().error]).toEqual([
      401,
      'unauthorized',
      `This credential is no longer valid: ask the owner of sandbox ${box.id} for another.`,
    ]);
  });

  test.each([
    ['a file', 'PUT', 'file/workspace/half/file', 'application/octet-stream', 'half'],
    ['an archive', 'POST', 'hydrate', 'application/x-tar', '\0'.repeat(100)],
    [
      'a form',
      'POST',
      'files?path=half',
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="files"; filename="form"\r\n\r\nhalf',
    ],
  ])('ends %s before its rest has arrived', async (_, method, path, type, half) => {
    const made = await delegate({ scopes: ['fs:write'] });
    const underWay = (word: string) =>
      execute(
        porthole,
        box.id,
        ['sh', '-c', `${word} find . -name '.porthole-*' | grep -q .; do sleep 0.02; done`],
        { token: ALICE },
      );
    const upload = connect(porthole.host.port, '127.0.0.1');
    try {
      upload.write(
        `${method} /v1/sandbox/${box.id}/${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${made.token}\r\nContent-Type: ${type}\r\nContent-Length: 100000\r\n\r\n${half}`,
      );
      await underWay('until');
      await asOwner('DELETE', `/v1/sandbox/${box.id}/delegations/${made.delegation_id}`);
      const [answer] = (await once(upload, 'data')) as [Buffer];
      expect(answer.toString()).toMatch(/^HTTP\/1\.1 401 /);
      await underWay('while');
    } finally {
      upload.destroy();
    }
    const { stdout } = await execute(porthole, box.id, ['find', '.', '-type', 'f', '-path', './half*'], {
      token: ALICE,
    });
    expect(stdout.toString()).toBe('');
  });

  test('takes with it a command that has not wholly come', async () => {
    const made = await delegate({ scopes: ['exec'] });
    const body = JSON.stringify({ argv: ['touch', 'too-late'] });
    const late = connect(porthole.host.port, '127.0.0.1');
    try {
      late.write(
        `POST /v1/sandbox/${box.id}/exec HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${made.token}\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
      );
      await once(late, 'data');
      late.write(body.slice(0, 5));
      await asOwner('DELETE', `/v1/sandbox/${box.id}/delegations/${made.delegation_id}`);
      late.write(body.slice(5));
      const [answer] = (await once(late, 'data')) as [Buffer];
      expect(answer.toString()).toMatch(/^HTTP\/1\.1 401 /);
    } finally {
      late.destroy();
    }
    expect((await read(ALICE, 'too-late')).status).toBe(404);
  });
});

test('rejects the token of a run’s agent from inside its sandbox when it is used outside', async () => {
  const run = await makeRun(porthole, ALICE);
  const { token } = await delegate({ scopes: ['exec'] }, run.sandboxId);
  const found = await execute(
    porthole,
    run.sandboxId,
    ['sh', '-c', 'sed -n s/^token=//p ~/.porthole/runs/*'],
    {
      token,
    },
  );
  const inside = found.stdout.toString().trim();
  expect(inside.split('.')).toHaveLength(3);
  for (const path of [`/api/runs/${run.runId}`, `/v1/sandbox/${run.sandboxId}/running`]) {
    expect((await porthole.call('GET', path, { token: inside })).status).toBe(401);
    expect((await porthole.call('GET', path, { token: run.agentToken })).status).toBe(200);
  }
});
