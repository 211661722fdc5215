import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { type Answer, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { execute } from './support/commands.ts';
import { ADA_ADMIN, ALICE, BOB, PEOPLE, SERVICE_KEY } from './support/people.ts';
import { pinnedClock } from './support/pinned-clock.ts';
import { type MadeRun, makeRun, startPreview, outcome, stopSandbox } from './support/runs.ts';

describe('runs', () => {
  const clock = pinnedClock();
  let porthole: TestHost;
  beforeAll(async () => {
    porthole = await startTestHost(PEOPLE, { clock });
  });
  afterAll(() => porthole.end());

  const asAlice = (method: string, path: string, body?: unknown) =>
    porthole.call(method, path, { token: ALICE, ...(body === undefined ? {} : { body }) });

  test('start with an id, an owner, a running sandbox and an agent token', async () => {
    const answer = await asAlice('POST', '/api/runs', { title: 'Fix the build' });
    const body = answer.json();
    expect(answer.status).toBe(201);
    expect(body).toEqual({
      run_id: expect.stringMatching(/^run_[0-9A-HJKMNP-TV-Z]{26}$/),
      owner: 'alice',
      title: 'Fix the build',
      sandbox_id: expect.stringMatching(/^[a-z2-7]{26}$/),
      auto_approve_tools: false,
      sharing: 'private',
      access: 'owner',
      status: 'running',
      created_at: '2030-03-01T12:00:00.000Z',
      completed_at: null,
      agent_token: expect.stringMatching(/^eyJ[\w-]+\.[\w-]+\.[\w-]{43}$/),
    });
    const running = await asAlice('GET', `/v1/sandbox/${String(body['sandbox_id'])}/running`);
    expect([running.status, running.json()]).toEqual([200, { running: true }]);
  });

  test('need no body', async () => {
    expect((await asAlice('POST', '/api/runs')).status).toBe(201);
  });

  test('return the token once: neither reading, listing nor completing shows it', async () => {
    const { runId, agentToken } = await makeRun(porthole, ALICE);
    const answers = [
      await asAlice('GET', `/api/runs/${runId}`),
      await asAlice('GET', '/api/runs'),
      await asAlice('POST', `/api/runs/${runId}/complete`),
    ];
    for (const { status, text } of answers) {
      expect(status).toBe(200);
      expect(text).not.toContain(agentToken);
      expect(text).not.toContain('agent_token');
    }
  });

  test('are listed newest first, in pages that neither skip nor repeat', async () => {
    const mine: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      clock.advance({ seconds: 1 });
      mine.unshift((await makeRun(porthole, BOB)).runId);
    }
    const seen: string[] = [];
    const sizes: number[] = [];
    let after: string | null = null;
    do {
      const path: string = `/api/runs?limit=2${after === null ? '' : `&after=${encodeURIComponent(after)}`}`;
      const page: { runs: { run_id: string }[]; next: string | null } = (
        await porthole.call('GET', path, { token: BOB })
      ).json();
      seen.push(...page.runs.map(({ run_id }) => run_id));
      sizes.push(page.runs.length);
      after = page.next;
    } while (after !== null);
    expect(seen).toEqual(mine);
    expect(sizes).toEqual([2, 2, 1]);
  });

  test('completing keeps the first time, and makes no difference the second time', async () => {
    const { runId } = await makeRun(porthole, ALICE);
    clock.advance({ minutes: 1 });
    const at = clock.now().toISOString();
    const first = (await asAlice('POST', `/api/runs/${runId}/complete`)).json();
    clock.advance({ minutes: 1 });
    const second = (await asAlice('POST', `/api/runs/${runId}/complete`)).json();
    expect(first).toMatchObject({ status: 'completed', completed_at: at });
    expect(second).toEqual(first);
    expect((await asAlice('GET', `/api/runs/${runId}`)).json()).toEqual(first);
  });

  describe('a given sandbox', () => {
    test('is used, and several runs may share it', async () => {
      const { id } = (await asAlice('POST', '/v1/sandbox', {})).json<{ id: string }>();
      const [one, two] = [
        await makeRun(porthole, ALICE, { sandbox_id: id }),
        await makeRun(porthole, ALICE, { sandbox_id: id }),
      ];
      expect([one.sandboxId, two.sandboxId]).toEqual([id, id]);
      expect(one.runId).not.toBe(two.runId);
    });

    test.each<[string, () => Promise<Record<string, unknown>>, [number, string]]>([
      [
        'of another user is 404',
        async () => ({ sandbox_id: (await makeRun(porthole, BOB)).sandboxId }),
        [404, 'sandbox_not_found'],
      ],
      ['that is not there is 404', async () => ({ sandbox_id: 'a'.repeat(26) }), [404, 'sandbox_not_found']],
      ['that is not readable is 400', async () => ({ sandbox_id: 'NOT/AN/ID' }), [400, 'invalid_request']],
      [
        'with an image is 400',
        async () => ({ sandbox_id: 'a'.repeat(26), image: 'alpine' }),
        [400, 'invalid_request'],
      ],
    ])('%s', async (_name, body, expected) => {
      expect(outcome(await asAlice('POST', '/api/runs', await body()))).toEqual(expected);
    });
  });

  describe('ownership', () => {
    let run: MadeRun;
    beforeAll(async () => {
      run = await makeRun(porthole, ALICE);
    });
    test.each<[string, string, string, number, number]>([
      ['the owner', ALICE, 'sees', 200, 200],
      ['another person', BOB, 'is kept out of', 403, 404],
      ['an admin', ADA_ADMIN, 'sees', 200, 200],
      ['the service', SERVICE_KEY, 'sees', 200, 200],
    ])('%s %s run and sandbox', async (_name, token, _verb, run_status, sandbox_status) => {
      const ofRun = await porthole.call('GET', `/api/runs/${run.runId}`, { token });
      const ofSandbox = await porthole.call('GET', `/v1/sandbox/${run.sandboxId}/running`, { token });
      expect([ofRun.status, ofSandbox.status]).toEqual([run_status, sandbox_status]);
    });

    test('gives the same answer for a foreign sandbox and a missing one', async () => {
      const ask = (id: string) =>
        porthole.call('POST', '/api/runs', { token: BOB, body: { sandbox_id: id } });
      const foreign = await ask(run.sandboxId);
      const unknown = await ask('a'.repeat(26));
      expect(foreign.text.replace(run.sandboxId, '*')).toBe(unknown.text.replace('a'.repeat(26), '*'));
    });

    test('lists show one’s own runs, and an admin everybody’s', async () => {
      const owners = async (token: string) => {
        const { runs } = (await porthole.call('GET', '/api/runs?limit=1000', { token })).json<{
          runs: { owner: string }[];
        }>();
        return [...new Set(runs.map(({ owner }) => owner))].sort();
      };
      expect([await owners(ALICE), await owners(BOB), await owners(ADA_ADMIN)]).toEqual([
        ['alice'],
        ['bob'],
        ['alice', 'bob'],
      ]);
    });

    test('gives an admin’s own run to the admin, not to the owner of the sandbox', async () => {
      const { runId } = await makeRun(porthole, ADA_ADMIN, { sandbox_id: run.sandboxId });
      expect(outcome(await asAlice('GET', `/api/runs/${runId}`))).toEqual([403, 'foreign_run']);
    });
  });

  describe('the agent token', () => {
    let run: MadeRun;
    let other: MadeRun;
    let session: string;
    beforeAll(async () => {
      run = await makeRun(porthole, ALICE, { auto_approve_tools: true });
      other = await makeRun(porthole, ALICE);
      ({ session_id: session } = await startPreview(porthole, run.runId, 3000, ALICE));
    });
    const file = (sandboxId: string) => `/v1/sandbox/${sandboxId}/file/workspace/note.txt`;
    const mine = (): Record<string, string> => ({
      run: run.runId,
      sandbox: run.sandboxId,
      session,
      other: other.runId,
      otherSandbox: other.sandboxId,
    });
    const fill = (path: string) => path.replace(/\{(\w+)\}/g, (_all, name: string) => mine()[name] ?? '');
    const asAgent = (method: string, path: string, body?: unknown): Promise<Answer> =>
      porthole.call(method, fill(path), { token: run.agentToken, ...(body === undefined ? {} : { body }) });

    test.each<[string, string, string, unknown, number]>([
      ['reads its run', 'GET', '/api/runs/{run}', undefined, 200],
      ['asks whether its sandbox runs', 'GET', '/v1/sandbox/{sandbox}/running', undefined, 200],
      ['writes a file', 'PUT', '/v1/sandbox/{sandbox}/file/workspace/note.txt', 'hello', 200],
      ['reads a file', 'GET', '/v1/sandbox/{sandbox}/file/workspace/note.txt', undefined, 200],
      ['runs a command', 'POST', '/v1/sandbox/{sandbox}/exec', { argv: ['true'] }, 200],
      [
        'asks for a preview of its run',
        'POST',
        '/api/runs/{run}/sandbox/preview',
        { target_port: 3000 },
        200,
      ],
      ['lists the previews of its run', 'GET', '/api/runs/{run}/sandbox/port-forward', undefined, 200],
      [
        'keeps a preview of its run alive',
        'POST',
        '/api/runs/{run}/sandbox/preview/{session}/keepalive',
        undefined,
        200,
      ],
      [
        'stops a preview of its run',
        'DELETE',
        '/api/runs/{run}/sandbox/port-forward/{session}',
        undefined,
        200,
      ],
    ])('%s', async (_name, method, path, body, status) => {
      expect((await asAgent(method, path, body)).status).toBe(status);
    });

    test.each<[string, string, string, unknown, [number, string]]>([
      ['makes runs', 'POST', '/api/runs', {}, [403, 'forbidden']],
      ['lists runs', 'GET', '/api/runs', undefined, [403, 'forbidden']],
      ['completes its run', 'POST', '/api/runs/{run}/complete', undefined, [403, 'forbidden']],
      ['makes sandboxes', 'POST', '/v1/sandbox', {}, [403, 'forbidden']],
      ['deletes its sandbox', 'DELETE', '/v1/sandbox/{sandbox}', undefined, [403, 'forbidden']],
      [
        'starts a preview past the gate',
        'POST',
        '/api/runs/{run}/sandbox/port-forward',
        { target_port: 3000 },
        [403, 'forbidden'],
      ],
      ['reads metrics', 'GET', '/metrics', undefined, [403, 'forbidden']],
      ['reads the API document', 'GET', '/v1/openapi.json', undefined, [403, 'forbidden']],
      [
        'lists the previews of another run',
        'GET',
        '/api/runs/{other}/sandbox/port-forward',
        undefined,
        [403, 'foreign_run'],
      ],
      [
        'stops a preview of another run',
        'DELETE',
        '/api/runs/{other}/sandbox/port-forward/{session}',
        undefined,
        [403, 'foreign_run'],
      ],
      [
        'keeps a preview of another run alive',
        'POST',
        '/api/runs/{other}/sandbox/preview/{session}/keepalive',
        undefined,
        [403, 'foreign_run'],
      ],
      ['reads another run of its owner', 'GET', '/api/runs/{other}', undefined, [403, 'foreign_run']],
      [
        'asks for a preview of another run',
        'POST',
        '/api/runs/{other}/sandbox/preview',
        { target_port: 3000 },
        [403, 'foreign_run'],
      ],
      [
        'reads in another sandbox of its owner',
        'GET',
        '/v1/sandbox/{otherSandbox}/file/workspace/note.txt',
        undefined,
        [404, 'sandbox_not_found'],
      ],
      [
        'writes in another sandbox',
        'PUT',
        '/v1/sandbox/{otherSandbox}/file/workspace/note.txt',
        'x',
        [404, 'sandbox_not_found'],
      ],
      [
        'runs commands in another sandbox',
        'POST',
        '/v1/sandbox/{otherSandbox}/exec',
        { argv: ['true'] },
        [404, 'sandbox_not_found'],
      ],
    ])('never %s', async (_name, method, path, body, expected) => {
      expect(outcome(await asAgent(method, path, body))).toEqual(expected);
    });

    test('is dead once its run completes, for files and commands too', async () => {
      const ended = await makeRun(porthole, ALICE);
      await asAlice('POST', `/api/runs/${ended.runId}/complete`);
      for (const [method, path, body] of [
        ['GET', `/api/runs/${ended.runId}`, undefined],
        ['GET', file(ended.sandboxId), undefined],
        ['PUT', file(ended.sandboxId), 'x'],
        ['POST', `/v1/sandbox/${ended.sandboxId}/exec`, { argv: ['true'] }],
      ] as const) {
        const answer = await porthole.call(method, path, {
          token: ended.agentToken,
          ...(body === undefined ? {} : { body }),
        });
        expect(outcome(answer)).toEqual([401, 'unauthorized']);
      }
    });

    test('is valid for 24 hours and not a second more', async () => {
      const young = await makeRun(porthole, ALICE);
      const ask = () => porthole.call('GET', `/api/runs/${young.runId}`, { token: young.agentToken });
      clock.advance({ hours: 23, minutes: 59, seconds: 59 });
      expect((await ask()).status).toBe(200);
      clock.advance({ seconds: 1 });
      expect(outcome(await ask())).toEqual([401, 'unauthorized']);
    });
  });
});

describe('sandboxes', () => {
  let porthole: TestHost;
  beforeAll(async () => {
    porthole = await startTestHost();
  });
  afterAll(() => porthole.end());

  const create = async () =>
    (await porthole.call('POST', '/v1/sandbox', { body: {} })).json<{ id: string }>().id;

  test('return an id, a token and nothing else when they are created', async () => {
    const answer = await porthole.call('POST', '/v1/sandbox', { body: {} });
    expect([answer.status, answer.json()]).toEqual([
      200,
      {
        id: expect.stringMatching(/^[a-z2-7]{26}$/),
        sandbox_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      },
    ]);
  });

  test('have a separate workspace each, with outputs', async () => {
    const [one, two] = [await create(), await create()];
    await porthole.call('PUT', `/v1/sandbox/${one}/file/workspace/only-here`, { body: 'x' });
    const listing = async (id: string) => (await execute(porthole, id, ['ls'])).stdout.toString();
    expect([await listing(one), await listing(two)]).toEqual(['only-here\noutputs\n', 'outputs\n']);
  });

  test('deleted, its files are gone, and no run can be made in it', async () => {
    const id = await create();
    const deleted = await porthole.call('DELETE', `/v1/sandbox/${id}`);
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    expect((await porthole.call('DELETE', `/v1/sandbox/${id}`)).status).toBe(204);
    const run = await porthole.call('POST', '/api/runs', { body: { sandbox_id: id } });
    expect(outcome(run)).toEqual([404, 'sandbox_not_found']);
    await expect(access(join(porthole.dataDir, 'sandboxes', id))).rejects.toThrow('ENOENT');
  });

  test('stopped, it does not run, and a command brings it back', async () => {
    const id = await create();
    await stopSandbox(porthole, id);
    expect((await porthole.call('GET', `/v1/sandbox/${id}/running`)).json()).toEqual({ running: false });
    expect((await porthole.call('POST', `/v1/sandbox/${id}/exec`, { body: { argv: ['true'] } })).text).toBe(
      'event: exit\ndata: {"exit_code":0}\n\n',
    );
    expect((await porthole.call('GET', `/v1/sandbox/${id}/running`)).json()).toEqual({ running: true });
  });

  test('are 16 when 16 are created at once', async () => {
    const ids = await Promise.all(Array.from({ length: 16 }, create));
    expect(new Set(ids).size).toBe(16);
  });
});
