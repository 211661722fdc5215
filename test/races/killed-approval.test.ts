/**
 * Hosts in separate processes on one PostgreSQL: killed while an approval is awaited, and two at
 * once.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import {
  approvalsAsked,
  askAndLeave,
  askForPreview,
  decide,
  readTimeline,
} from '#test/host/support/approvals.ts';
import { openEventStream } from '#test/host/support/event-stream.ts';
import { type Callable, type MadeRun, makeRun, outcome } from '#test/host/support/runs.ts';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';
import { call } from '#test/support/in-process-host.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '#test/support/postgres.ts';
import { suite } from '#test/support/suite.ts';
import { withGuests } from '#test/support/with-guests.ts';

const SIGNING_KEYS = JSON.stringify({
  keys: [{ kty: 'oct', kid: 'a', k: Buffer.alloc(32, 'approval').toString('base64url') }],
});

/** A host that can be killed and restarted on the state it left. */
class Instance implements Callable {
  readonly #environment: Readonly<Record<string, string>>;
  #dataDir = '';
  #process: HostProcess | undefined;

  constructor(databaseUrl: string) {
    this.#environment = { DATABASE_URL: databaseUrl, PORTHOLE_SIGNING_KEYS: SIGNING_KEYS };
  }

  async start(): Promise<void> {
    this.#dataDir ||= await mkdtemp(join(tmpdir(), 'porthole-instance-'));
    this.#process = await startHostProcess({ dataDir: this.#dataDir, environment: this.#environment });
  }

  get port(): number {
    return this.#process?.port ?? 0;
  }

  call: Callable['call'] = (method, path, options) => call(this.port, method, path, options);

  async kill(): Promise<void> {
    await this.#process?.end('SIGKILL');
  }

  /** Removes its sandboxes and its folder as well. */
  async remove(): Promise<void> {
    await this.kill();
    if (this.#dataDir === '') return;
    const provider = withGuests(createLocalProvider({ dataDir: this.#dataDir }));
    for await (const id of provider.list()) await provider.destroy(id);
    await provider.close();
    await rm(this.#dataDir, { recursive: true, force: true });
  }
}

suite('an approval', postgresMissing, () => {
  let server: TestPostgres;
  let admin: Client;
  let schemas = 0;
  let instances: Instance[];
  /** The instance with the sandboxes. */
  let one: Instance;
  let other: Instance;
  let run: MadeRun;
  beforeAll(async () => {
    server = await startPostgres();
    admin = new Client({ connectionString: server.url });
    await admin.connect();
  });
  beforeEach(async () => {
    const schema = `killed_${(schemas += 1)}`;
    await admin.query(`create schema ${schema}`);
    const url = `${server.url}?options=${encodeURIComponent(`-c search_path=${schema}`)}`;
    instances = [new Instance(url), new Instance(url)];
    [one, other] = instances as [Instance, Instance];
    await Promise.all(instances.map((instance) => instance.start()));
    run = await makeRun(one);
  });
  afterEach(() => Promise.all(instances.map((instance) => instance.remove())));
  afterAll(async () => {
    await admin?.end();
    await server?.stop();
  });

  const ask = () => askForPreview(one, run.runId, run.agentToken);
  /** The id of the newest request. */
  const asked = async (count = 1) => {
    const requests = await approvalsAsked(other, run.runId, { count });
    return requests.at(-1)?.data['request_id'];
  };
  const approve = async (on: Instance, id: unknown) =>
    (await decide(on, run.runId, { request_id: id, decision: 'approve' })).status;
  const reported = async () => (await readTimeline(other, run.runId)).slice(2).map(({ type }) => type);
  const until = async (type: string) => {
    while (!(await reported()).includes(type)) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  /** Waits until this many callers count as waiting, the killed one among them. */
  const waiting = async (count: number) => {
    const query = `select from killed_${schemas}.approval_waiters`;
    while ((await admin.query(query)).rowCount !== count)
      await new Promise((resolve) => setTimeout(resolve, 20));
  };
  /** A call during which its host is killed. */
  const askAndKill = async (): Promise<unknown> => {
    const asking = ask().catch((error: NodeJS.ErrnoException) => error.code);
    const id = await asked();
    await one.kill();
    expect(await asking).toBe('ECONNRESET');
    return id;
  };

  test('opens the preview on the instance that waits when it lands on another one', async () => {
    const asking = ask();
    expect(await approve(other, await asked())).toBe(200);
    expect((await asking).status).toBe(200);
    expect(await reported()).toEqual(['tool.approval_required', 'tool.approved', 'preview.opened']);
  });

  test('is taken once when it arrives on both instances at once', async () => {
    const asking = ask();
    const id = await asked();
    const statuses = await Promise.all([
      approve(one, id),
      approve(other, id),
      approve(one, id),
      approve(other, id),
    ]);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409]);
    expect((await asking).status).toBe(200);
  });

  test('is seen as it happens on the other instance, without a gap', async () => {
    const stream = await openEventStream(other.port, `/api/runs/${run.runId}/events`);
    const asking = ask();
    await approve(other, await asked());
    await asking;
    const ids: string[] = [];
    while (ids.length < 5) {
      const frame = await stream.next();
      if (frame?.id !== undefined) ids.push(`${frame.id} ${frame.event}`);
    }
    stream.leave();
    expect(ids).toEqual([
      '1 run.created',
      '2 sandbox.created',
      '3 tool.approval_required',
      '4 tool.approved',
      '5 preview.opened',
    ]);
  });

  test('is awaited again by the identical retry after kill -9, and asked for once', async () => {
    const id = await askAndKill();
    await one.start();
    const retry = ask();
    await waiting(2);
    expect(await approve(other, id)).toBe(200);
    expect((await retry).status).toBe(200);
    expect(await reported()).toEqual(['tool.approval_required', 'tool.approved', 'preview.opened']);
  });

  test('is kept for the retry, and for one only, when it is taken while the function is dead', async () => {
    const id = await askAndKill();
    expect(await approve(other, id)).toBe(200);
    await one.start();
    const retried = await ask();
    expect(retried.status).toBe(200);
    expect(await reported()).toEqual(['tool.approval_required', 'tool.approved', 'preview.opened']);
    const session = String(retried.json()['session_id']);
    await one.call('DELETE', `/api/runs/${run.runId}/sandbox/port-forward/${session}`);
    const next = ask();
    await decide(other, run.runId, { request_id: await asked(2), decision: 'deny' });
    expect(outcome(await next)).toEqual([403, 'approval_denied']);
  });

  test('is withdrawn when the caller of the retry goes away, though the killed one never said so', async () => {
    await askAndKill();
    await one.start();
    const retry = askAndLeave(one.port, run.runId, run.agentToken, 3000);
    await waiting(2);
    retry.leave();
    await until('tool.withdrawn');
    expect(await reported()).toEqual(['tool.approval_required', 'tool.withdrawn']);
  });
});
