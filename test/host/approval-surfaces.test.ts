/**
 * A person decides while an agent waits, for every way in which an agent can ask except the route
 * itself.
 */
import { createServer, type AddressInfo } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';
import { call, startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '#test/support/postgres.ts';
import { suite } from '#test/support/suite.ts';
import { approvalsAsked, decide, readTimeline } from './support/approvals.ts';
import { ALICE, PEOPLE } from './support/people.ts';
import { type PinnedClock, pinnedClock } from './support/pinned-clock.ts';
import { type Callable, type MadeRun, makeRun } from './support/runs.ts';
import { type Place, SURFACES } from './support/surfaces.ts';

const NAMES = Object.keys(SURFACES);
const ask = (surface: string, place: Place, run: MadeRun, signal?: AbortSignal) => {
  const asking = SURFACES[surface];
  if (asking === undefined) throw new Error(surface);
  return asking(place, run, 3000, signal);
};
const requested = async (porthole: Callable, { runId }: MadeRun): Promise<string> => {
  const [request] = await approvalsAsked(porthole, runId, { token: ALICE });
  return String(request?.data['request_id']);
};
const types = async (porthole: Callable, { runId }: MadeRun) =>
  (await readTimeline(porthole, runId, ALICE))
    .map(({ type }) => type)
    .filter((type) => type.startsWith('tool.'));

describe.each(NAMES)('an agent that asks with %s', (surface) => {
  let clock: PinnedClock;
  let porthole: TestHost;
  let place: Place;
  let run: MadeRun;
  beforeAll(async () => {
    clock = pinnedClock();
    porthole = await startTestHost(PEOPLE, { clock });
    place = { url: porthole.host.url, porthole, owner: ALICE };
  });
  beforeEach(async () => {
    run = await makeRun(porthole, ALICE);
  });
  afterAll(() => porthole.end());

  test('gets the URL once a person approves', async () => {
    const asking = ask(surface, place, run);
    await decide(
      porthole,
      run.runId,
      { request_id: await requested(porthole, run), decision: 'approve' },
      ALICE,
    );
    const { outcome, text } = await asking;
    expect(outcome).toBe('opened');
    expect(text).toMatch(/http:\/\/[a-z0-9-]+-preview\.localhost:\d+/);
    expect(await types(porthole, run)).toEqual(['tool.approval_required', 'tool.approved']);
  });

  test('gets the reason when a person denies', async () => {
    const asking = ask(surface, place, run);
    const decision = {
      request_id: await requested(porthole, run),
      decision: 'deny',
      reason: 'ask "me" on Monday',
    };
    await decide(porthole, run.runId, decision, ALICE);
    const { outcome, text } = await asking;
    expect(outcome).toBe('denied');
    expect(text).toContain('ask "me" on Monday');
    expect(text).not.toMatch(/https?:/);
    expect(await types(porthole, run)).toEqual(['tool.approval_required', 'tool.denied']);
  });

  test('is reported when there is no decision in time', async () => {
    const asking = ask(surface, place, run);
    await requested(porthole, run);
    clock.advance({ minutes: 5 });
    expect((await asking).outcome).toBe('timed_out');
    expect(await types(porthole, run)).toEqual(['tool.approval_required', 'tool.timed_out']);
  });

  test('is not asked about twice: what is allowed for the run opens at once', async () => {
    const asking = ask(surface, place, run);
    const decision = { request_id: await requested(porthole, run), decision: 'approve', scope: 'run' };
    await decide(porthole, run.runId, decision, ALICE);
    expect((await asking).outcome).toBe('opened');
    for await (const preview of porthole.host.services.plane.list({ runId: run.runId })) {
      await porthole.host.services.plane.close(preview);
    }
    expect((await ask(surface, place, run)).outcome).toBe('opened');
    expect(await types(porthole, run)).toEqual(['tool.approval_required', 'tool.approved', 'tool.approved']);
  });
});

describe('a host that is killed while an agent waits', () => {
  let dataDir: string;
  let port: number;
  let host: HostProcess;
  const porthole: Callable = { call: (method, path, options) => call(port, method, path, options) };
  const start = () => startHostProcess({ dataDir, environment: { ...PEOPLE, PORT: String(port) } });

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'porthole-surfaces-'));
    // The next host must have this one's address.
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    ({ port } = server.address() as AddressInfo);
    await new Promise((resolve) => server.close(resolve));
    host = await start();
  });
  afterAll(async () => {
    await host.end();
    await rm(dataDir, { recursive: true, force: true });
  });

  test.each(NAMES)('is asked again by %s, and the owner is not asked twice', async (surface) => {
    const run = await makeRun(porthole, ALICE);
    const place = { url: `http://127.0.0.1:${port}`, porthole, owner: ALICE };
    // What an agent runs in its sandbox survives the host's connections; a client of the host does
    // not.
    const isInside = surface === 'the command in the sandbox';
    const gone = new AbortController();
    const asking = isInside
      ? porthole.call('POST', `/v1/sandbox/${run.sandboxId}/exec`, {
          token: ALICE,
          body: {
            argv: [
              'sh',
              '-c',
              'setsid sh -c "porthole preview 3000 >said 2>&1; echo exit $? >>said" >/dev/null 2>&1 &',
            ],
          },
        })
      : ask(surface, place, run, gone.signal).catch(() => undefined);
    const id = await requested(porthole, run);
    await host.end('SIGKILL');
    host = await start();
    // An MCP client with a broken connection calls again, like an agent would; the others retry on
    // their own.
    const again = surface === 'the MCP tool' ? ask(surface, place, run) : asking;
    if (again !== asking) gone.abort();
    const said = async () =>
      (await porthole.call('GET', `/v1/sandbox/${run.sandboxId}/file/workspace/said`, { token: ALICE })).text;
    expect((await decide(porthole, run.runId, { request_id: id, decision: 'approve' }, ALICE)).status).toBe(
      200,
    );
    if (isInside) {
      while (!(await said()).includes('exit')) await new Promise((resolve) => setTimeout(resolve, 50));
      expect(await said()).toMatch(/^http:\/\/.*\n(porthole: .*\n)?exit 0\n$/);
    } else expect(await again).toMatchObject({ outcome: 'opened' });
    expect(await types(porthole, run)).toEqual(['tool.approval_required', 'tool.approved']);
    await porthole.call('DELETE', `/v1/sandbox/${run.sandboxId}`, { token: ALICE });
  });
});

suite('two instances on one PostgreSQL', postgresMissing, () => {
  let postgres: TestPostgres;
  let here: TestHost;
  let there: TestHost;
  beforeAll(async () => {
    postgres = await startPostgres();
    const key = Buffer.alloc(32, 'shared').toString('base64url');
    const environment = {
      ...PEOPLE,
      DATABASE_URL: postgres.url,
      PORTHOLE_SIGNING_KEYS: JSON.stringify({ keys: [{ kty: 'oct', kid: 'a', k: key }] }),
    };
    here = await startTestHost(environment);
    there = await startTestHost(environment);
  }, 60_000);
  afterAll(async () => {
    await here.end();
    await there.end();
    await postgres.stop();
  });

  test.each(NAMES)('decide on one instance what was requested with %s on the other', async (surface) => {
    const run = await makeRun(here, ALICE);
    const asking = ask(surface, { url: here.host.url, porthole: here, owner: ALICE }, run);
    const decided = await decide(
      there,
      run.runId,
      { request_id: await requested(there, run), decision: 'approve' },
      ALICE,
    );
    expect(decided.status).toBe(200);
    expect((await asking).outcome).toBe('opened');
  });
});
