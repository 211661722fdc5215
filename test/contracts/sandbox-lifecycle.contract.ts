import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import type { WakingClock } from '#base/clock-and-ids.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { base32 } from '#core/previews/preview-token.ts';
import { createSandbox } from '#core/sandboxes/create-sandbox.ts';
import { collectOrphans } from '#core/sandboxes/collect-orphans.ts';
import { runLifecyclePass } from '#handlers/ops/scheduled.ts';
import type { Services } from '#handlers/services.ts';
import { pinnedClock, type PinnedClock } from '#test/doubles/pinned-clock.ts';
import { execute, readEvents, serve } from '#test/host/support/commands.ts';
import { makeRun, startPreview } from '#test/host/support/runs.ts';
import { openTerminal } from '#test/host/support/terminals.ts';
import type { TestHost } from '#test/support/in-process-host.ts';
import { mortal } from '#test/doubles/mortal.ts';

export interface LifecycleFixture {
  /** Idle after 30 minutes, retained for an hour, by the clock passed to `open`. */
  readonly porthole: TestHost;
  /** Whether remains of a sandbox exist: its volume, its folder. */
  readonly remains: (id: string) => Promise<boolean>;
  readonly end: () => Promise<unknown>;
}

export interface LifecycleContractOptions {
  /** Whether the traffic of previews passes through this host. */
  readonly seesTraffic: boolean;
  /** `life` skips the tests of host behaviour that is equal for all providers. */
  readonly part?: 'all' | 'life';
}

interface Report {
  readonly id: string;
  readonly state: string;
  readonly desired_state: string;
  readonly expires_at: string | null;
}

const MINUTE = 60_000;

/**
 * The lifecycle of sandboxes over HTTP and through the pass, on real sandboxes, with a stopped
 * clock.
 */
export function sandboxLifecycleContract(
  open: (clock: WakingClock) => Promise<LifecycleFixture>,
  { seesTraffic, part = 'all' }: LifecycleContractOptions,
): void {
  let fixture: LifecycleFixture;
  let porthole: TestHost;
  let services: Services;
  let clock: PinnedClock;
  beforeAll(async () => {
    clock = pinnedClock(new Date());
    fixture = await open(clock);
    ({ porthole } = fixture);
    ({ services } = porthole.host);
  }, 300_000);
  afterAll(async () => fixture.end(), 120_000);

  /** Two at once, which may happen. */
  const pass = async () => {
    await Promise.all([runLifecyclePass(services), runLifecyclePass(services)]);
  };
  const wait = (minutes: number) => clock.advance(minutes * MINUTE);
  const post = (path: string, body?: object) =>
    porthole.call('POST', `/v1/sandbox${path}`, body === undefined ? {} : { body });
  const create = async (body: object = {}) => (await post('', body)).json<Report>().id;
  const read = (id: string) => porthole.call('GET', `/v1/sandbox/${id}`);
  const reported = async (id: string) => (await read(id)).json<Report>();
  const seen = async (id: string) => (await services.sandboxes.inspect(id)).state;
  const file = (method: string, id: string, body?: string) =>
    porthole.call(method, `/v1/sandbox/${id}/file/workspace/kept`, body === undefined ? {} : { body });
  const remove = async (id: string) => {
    expect((await porthole.call('DELETE', `/v1/sandbox/${id}`)).status).toBe(204);
  };

  test('stops an idle sandbox, resumes it with its files for a command and for a file, keeps it for its retention, and then destroys it with its volume', async () => {
    const id = await create();
    expect((await file('PUT', id, 'kept')).status).toBe(200);
    wait(29);
    await pass();
    expect([(await reported(id)).state, await seen(id)]).toEqual(['running', 'running']);
    wait(2);
    await pass();
    expect(await reported(id)).toMatchObject({ state: 'stopped', desired_state: 'stopped' });
    expect([await seen(id), await fixture.remains(id)]).toEqual(['stopped', true]);

    expect((await execute(porthole, id, ['cat', 'kept'])).stdout.toString()).toBe('kept');
    expect((await reported(id)).state).toBe('running');
    expect((await post(`/${id}/stop`)).status).toBe(200);
    expect((await file('GET', id)).text).toBe('kept');
    expect(await seen(id)).toBe('running');

    expect((await post(`/${id}/stop`)).status).toBe(200);
    wait(59);
    await pass();
    expect([(await reported(id)).state, await fixture.remains(id)]).toEqual(['stopped', true]);
    wait(2);
    await pass();
    expect([(await read(id)).status, await seen(id), await fixture.remains(id)]).toEqual([
      404,
      'absent',
      false,
    ]);
  });

  test('makes one sandbox for 50 concurrent callers with a session key, and resumes it when it is stopped', async () => {
    const all = async () => {
      const answers = await Promise.all(Array.from({ length: 50 }, () => post('', { session_key: 'fifty' })));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      return [...new Set(answers.map((answer) => answer.json<Report>().id))];
    };
    const [id = '', ...others] = await all();
    expect(others).toEqual([]);
    expect(await seen(id)).toBe('running');
    await file('PUT', id, 'kept');
    await post(`/${id}/stop`);
    expect(await all()).toEqual([id]);
    expect((await execute(porthole, id, ['cat', 'kept'])).stdout.toString()).toBe('kept');
    await remove(id);
  });

  describe('continues in the next pass after any process was killed', () => {
    const cut = (when: 'before' | 'after', step: Parameters<typeof mortal>[2]) =>
      runLifecyclePass(mortal(services, when, step)).catch(() => undefined);

    test('completes a stop', async () => {
      const id = await create();
      for (const [when, step] of [
        ['before', 'suspend'],
        ['after', 'suspend'],
      ] as const) {
        await execute(porthole, id, ['true']);
        wait(31);
        await cut(when, step);
        expect(await reported(id)).toMatchObject({ state: 'running', desired_state: 'stopped' });
        await pass();
        expect([(await reported(id)).state, await seen(id)]).toEqual(['stopped', 'stopped']);
      }
      await remove(id);
    });

    test.each([
      ['before', 'destroy'],
      ['after', 'destroy'],
    ] as const)('completes a destruction that was cut off %s its step %s', async (when, step) => {
      const id = await create();
      await post(`/${id}/stop`);
      wait(61);
      await cut(when, step);
      expect(await services.records.sandboxes.get(id)).toMatchObject({
        desired: 'destroyed',
        observed: 'stopped',
      });
      await pass();
      expect(await services.records.sandboxes.get(id)).toMatchObject({ observed: 'destroyed' });
      expect([await seen(id), await fixture.remains(id)]).toEqual(['absent', false]);
    });

    test.each([
      ['before', 'create'],
      ['after', 'create'],
    ] as const)('cleans up a creation that was cut off %s its step %s', async (when, step) => {
      let made: SandboxRecord | undefined;
      const dying = mortal(services, when, step);
      const { ids } = services;
      const watched = { ...dying, ids: { ...ids, sandbox: () => (known = ids.sandbox()) } };
      let known = '';
      const owner = { user: 'ada', org: 'acme' };
      await createSandbox(watched, { owner }, (sandbox) => Promise.resolve(void (made = sandbox))).catch(
        () => undefined,
      );
      expect(made).toBeUndefined();
      expect(await services.records.sandboxes.get(known)).toMatchObject({
        desired: 'running',
        observed: 'creating',
      });
      wait(31);
      await pass();
      expect(await services.records.sandboxes.get(known)).toMatchObject({ observed: 'destroyed' });
      expect([await seen(known), await fixture.remains(known)]).toEqual(['absent', false]);
    });
  });

  test('adopts orphans that no record knows, and removes those that their owner deleted', async () => {
    const { records, sandboxes } = services;
    const orphan = base32(randomBytes(16));
    await sandboxes.create({ id: orphan });
    const [gone, kept] = [await create(), await create()];
    await records.sandboxes.setDesired(gone, 'destroyed');
    await records.sandboxes.setObserved(gone, 'destroyed');
    const failed = (_id: string, error: unknown) => {
      throw error;
    };
    const reports = await Promise.all([1, 2].map(() => collectOrphans({ ...services, failed })));
    const sum = (key: 'adopted' | 'removed') => reports.reduce((total, report) => total + report[key], 0);
    expect([sum('adopted'), sum('removed')]).toEqual([1, 1]);
    expect(await Promise.all([orphan, gone, kept].map(seen))).toEqual(['stopped', 'absent', 'running']);
    expect([await fixture.remains(orphan), await fixture.remains(gone)]).toEqual([true, false]);
    await execute(porthole, kept, ['true']);
    wait(61);
    await pass();
    expect(await fixture.remains(orphan)).toBe(false);
    await remove(kept);
  });

  if (part === 'life') return;

  describe('activity', () => {
    let id: string;
    beforeAll(async () => {
      id = await create({ ttl_seconds: 86_400 });
    });
    afterAll(() => remove(id));

    test.each<[string, () => Promise<unknown>]>([
      ['a command', () => execute(porthole, id, ['true'])],
      ['a file that is written', () => file('PUT', id, 'kept')],
      ['a file that is read', () => file('GET', id)],
      ['a heartbeat', () => post(`/${id}/heartbeat`)],
      ['a terminal', async () => (await openTerminal(porthole.host.port, id)).leave()],
    ])('that is %s keeps it', async (_what, use) => {
      wait(29);
      await use();
      wait(29);
      await pass();
      expect((await reported(id)).state).toBe('running');
    });
  });

  describe('a ttl', () => {
    test('stops a sandbox without a heartbeat, whatever it does, and does no more; starts anew on resume', async () => {
      const id = await create({ ttl_seconds: 120 });
      const expiry = () => new Date(clock.now().getTime() + 2 * MINUTE).toISOString();
      expect((await reported(id)).expires_at).toBe(expiry());
      wait(1);
      expect((await post(`/${id}/heartbeat`)).json()).toEqual({ expires_at: expiry() });
      wait(2);
      await pass();
      expect((await reported(id)).state).toBe('running');
      await execute(porthole, id, ['true']);
      clock.advance(1_000);
      await pass();
      expect(await reported(id)).toMatchObject({ state: 'stopped', expires_at: null });
      const late = await post(`/${id}/heartbeat`);
      expect([late.status, late.json<{ code: string }>().code]).toEqual([409, 'sandbox_not_running']);
      expect(await seen(id)).toBe('stopped');
      await post(`/${id}/resume`);
      expect((await reported(id)).expires_at).toBe(expiry());

      // Opening a terminal is a heartbeat as well.
      wait(1);
      const terminal = await openTerminal(porthole.host.port, id);
      expect((await reported(id)).expires_at).toBe(expiry());
      await terminal.leave();
      await remove(id);
    });
  });

  describe('a command that ends with its sandbox names the reason and what to call', () => {
    test.each<[string, (id: string) => Promise<unknown>, RegExp]>([
      ['stopped', (id) => post(`/${id}/stop`), /^Sandbox ID was stopped, .*POST \/v1\/sandbox\/ID\/resume/],
      [
        'expired',
        () => {
          wait(3);
          return pass();
        },
        /^Sandbox ID expired: .* ttl_seconds of 120\..*POST \/v1\/sandbox\/ID\/heartbeat/,
      ],
      ['deleted', (id) => remove(id), /^Sandbox ID was deleted, .*POST \/v1\/sandbox\./],
    ])('%s', async (what, end, said) => {
      const id = await create({ ttl_seconds: 120 });
      const begin = async (name: string, headers: Record<string, string> = {}) => {
        const answer = porthole.call('POST', `/v1/sandbox/${id}/exec`, {
          body: { argv: ['sh', '-c', `touch ${name}; sleep 1000`] },
          headers,
        });
        await execute(porthole, id, ['sh', '-c', `until [ -e ${name} ]; do sleep 0.02; done`]);
        // In an object: awaiting this must not await the answer.
        return { answer };
      };
      const terminal = await openTerminal(porthole.host.port, id);
      const answers = [
        await begin('stream'),
        await begin('session', { 'session-id': 'kept' }),
        await begin('json', { accept: 'application/json' }),
      ];
      await end(id);
      const [stream, session, json] = await Promise.all(answers.map(({ answer }) => answer));
      expect(await terminal.closed).toBe(1001);
      const texts = [
        ...[stream, session].map((answer) => readEvents(answer?.text ?? '').at(-1)?.data ?? ''),
        json?.text ?? '',
      ];
      for (const text of texts) expect(JSON.parse(text)).toMatchObject({ code: 'exec_transport_error' });
      const messages = texts.map((text) => (JSON.parse(text) as { error: string }).error);
      for (const message of [...messages, String(terminal.reported.at(-1)?.['message'])])
        expect(message.replaceAll(id, 'ID')).toMatch(said);
      if (what !== 'deleted') await remove(id);
    });
  });

  describe('a preview', () => {
    test(
      seesTraffic
        ? 'keeps it by its traffic; one of a stopped sandbox stays and says so, and none can be started'
        : 'keeps it while it lives; one of a stopped sandbox stays and says so, and none can be started',
      async () => {
        const { runId, sandboxId } = await makeRun(porthole);
        if (seesTraffic) await serve(porthole, sandboxId, 3000, 'hi');
        const preview = await startPreview(porthole, runId, 3000);
        const host = new URL(preview.preview_url ?? '').host;
        wait(20);
        if (seesTraffic) expect((await porthole.call('GET', '/', { host })).status).toBe(200);
        wait(25);
        await pass();
        expect((await reported(sandboxId)).state).toBe('running');
        if (!seesTraffic) {
          const session = `/api/runs/${runId}/sandbox/port-forward/${preview.session_id}`;
          expect((await porthole.call('DELETE', session)).status).toBe(200);
        }
        wait(6);
        await pass();
        expect((await reported(sandboxId)).state).toBe('stopped');

        await post(`/${sandboxId}/resume`);
        const { preview_url } = await startPreview(porthole, runId, 3001);
        await post(`/${sandboxId}/stop`);
        const list = await porthole.call('GET', `/api/runs/${runId}/sandbox/port-forward`);
        expect(list.json<object[]>()).toContainEqual(
          expect.objectContaining({ target_port: 3001, reason: 'sandbox_stopped' }),
        );
        if (seesTraffic) {
          const page = await porthole.call('GET', '/', { host: new URL(preview_url ?? '').host });
          expect([page.status, page.headers['x-porthole-status']]).toEqual([503, 'sandbox_stopped']);
        }
        const refused = await porthole.call('POST', `/api/runs/${runId}/sandbox/port-forward`, {
          body: { target_port: 3002 },
        });
        expect([refused.status, refused.json<{ code: string }>().code]).toEqual([409, 'no_bound_sandbox']);
        await remove(sandboxId);
      },
    );
  });
}
