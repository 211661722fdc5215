/**
 * The same races on a real host: over HTTP, with real files and a real database, as concurrent as
 * one machine allows.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as later } from 'node:timers/promises';
import { reap } from '#handlers/ops/scheduled.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { repetitions } from '#test/support/suite.ts';

const IDLE_MS = 30 * 60_000;
const RACES = repetitions(1_000);

interface Session {
  readonly session_id: string;
  readonly preview_url: string;
}

describe('on a host', () => {
  const clock = pinnedClock(new Date());
  let porthole: TestHost;
  let sandboxId: string;
  beforeAll(async () => {
    porthole = await startTestHost(
      { Sandbox__Preview__MaxPerRun: '12', Sandbox__Preview__MaxTotal: '1000' },
      { clock },
    );
    sandboxId = (await makeRun()).sandboxId;
  });
  afterAll(() => porthole.end());

  /** In the one sandbox, once it exists. */
  async function makeRun(): Promise<{ id: string; sandboxId: string }> {
    const answer = await porthole.call('POST', '/api/runs', {
      body: sandboxId === undefined ? {} : { sandbox_id: sandboxId },
    });
    const run = answer.json<{ run_id: string; sandbox_id: string }>();
    return { id: run.run_id, sandboxId: run.sandbox_id };
  }
  const start = (run: string, port: number) =>
    porthole.call('POST', `/api/runs/${run}/sandbox/port-forward`, { body: { target_port: port } });
  const keep = (run: string, token: string) =>
    porthole.call('POST', `/api/runs/${run}/sandbox/preview/${token}/keepalive`);
  const visit = (url: string) => porthole.call('GET', '/', { host: new URL(url).host });
  const live = async (run: string) =>
    (await porthole.call('GET', `/api/runs/${run}/sandbox/port-forward`)).json<Session[]>();

  test(`${RACES} races of keepalive and reapers lose nothing that was kept alive in time, and bring nothing back`, async () => {
    const run = await makeRun();
    let kept = 0;
    let reapedInAll = 0;
    const pause = fc.nat(60);
    const race = fc.record({
      // Just before the expiry, at it, and past it.
      at: fc.constantFrom(-1, 0, 1),
      reapers: fc.tuple(pause, pause),
      supervisors: fc.tuple(pause, pause),
      port: fc.integer({ min: 3000, max: 3002 }),
    });
    await fc.assert(
      fc.asyncProperty(race, async ({ at, reapers, supervisors, port }) => {
        const { session_id: token, preview_url: url } = (await start(run.id, port)).json<Session>();
        clock.advance(IDLE_MS + at);
        const passes = reapers.map(async (turns) => {
          for (let turn = 0; turn < turns; turn += 1) await later();
          return reap(porthole.host.services);
        });
        const keepalives = supervisors.map(async (turns) => {
          for (let turn = 0; turn < turns; turn += 1) await later();
          return (await keep(run.id, token)).status;
        });
        const [statuses, reports] = await Promise.all([Promise.all(keepalives), Promise.all(passes)]);
        const isLive = (await live(run.id)).some((session) => session.session_id === token);
        const url410 = (await visit(url)).status === 410;

        expect(url410).toBe(!isLive);
        if (at < 0) expect([isLive, statuses]).toEqual([true, [200, 200]]);
        if (statuses.includes(200)) expect(isLive).toBe(true);
        else expect(statuses).toEqual([404, 404]);
        // Previews of other ports expire as well, each once.
        const reaped = reports.reduce((sum, report) => sum + report.reaped, 0);
        expect(reports.every((report) => report.lost <= 3)).toBe(true);
        if (isLive) kept += 1;
        else {
          expect(reaped).toBeGreaterThanOrEqual(1);
          expect((await keep(run.id, token)).status).toBe(404);
          expect((await visit(url)).status).toBe(410);
        }
        reapedInAll += reaped;
      }),
      { numRuns: RACES, endOnFailure: true },
    );
    // Each side won some, so these were races.
    expect(kept).toBeGreaterThan(RACES / 3);
    expect(reapedInAll).toBeGreaterThan(RACES / 100);
  }, 180_000);

  test('gives one session id for 32 simultaneous starts of one run and port', async () => {
    for (let round = 0; round < 10; round += 1) {
      const run = await makeRun();
      const answers = await Promise.all(Array.from({ length: 32 }, () => start(run.id, 3000)));
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 32 }, () => 200));
      expect(new Set(answers.map((answer) => answer.json<Session>().session_id)).size).toBe(1);
      expect(await live(run.id)).toHaveLength(1);
    }
  });

  test('leaves exactly the cap after simultaneous starts, and refuses only beyond it', async () => {
    for (let round = 0; round < 10; round += 1) {
      const run = await makeRun();
      const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => start(run.id, 3000 + at)));
      const started = answers.filter(({ status }) => status === 200);
      expect(started).toHaveLength(12);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(8);
      const tokens = (await live(run.id)).map((session) => session.session_id);
      expect(tokens.sort()).toEqual(started.map((answer) => answer.json<Session>().session_id).sort());

      await porthole.call('DELETE', `/api/runs/${run.id}/sandbox/port-forward/${tokens[0]}`);
      const retried = await Promise.all([3100, 3101].map((port) => start(run.id, port)));
      expect(retried.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 429]);
    }
  });

  /** A client that disconnects: during its request, right after it, or while it waits. */
  async function cutOff(run: string, port: number, when: 'early' | 'sent' | 'waiting'): Promise<void> {
    const body = JSON.stringify({ target_port: port });
    const socket = connect(porthole.host.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.on('error', () => undefined);
    const head =
      `POST /api/runs/${run}/sandbox/port-forward HTTP/1.1\r\nHost: localhost:${porthole.host.port}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    const closed = once(socket, 'close');
    socket.write(head + (when === 'early' ? body.slice(0, 5) : body), () => {
      if (when === 'waiting') setImmediate(() => socket.destroy());
      else socket.destroy();
    });
    await closed;
  }

  test('gives exactly 100 previews for 1,000 starts on 100 runs and ports, with a tenth of the clients cut off', async () => {
    const runs = await Promise.all(Array.from({ length: 10 }, makeRun));
    const cut = fc.oneof(
      { weight: 9, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.constantFrom('early' as const, 'sent' as const, 'waiting' as const) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(cut, { minLength: 1_000, maxLength: 1_000, size: 'max' }),
        fc.integer({ min: 1, max: 99 }).filter((stride) => stride % 2 !== 0 && stride % 5 !== 0),
        async (cuts, stride) => {
          const tokens = new Map<number, Set<string>>();
          const statuses = new Map<number, number>();
          let next = 0;
          const client = async () => {
            for (let at = next++; at < cuts.length; at = next++) {
              // Every pair ten times, far apart or close together.
              const pair = (Math.floor(at / 10) + at * stride) % 100;
              const run = runs[Math.floor(pair / 10)]?.id ?? '';
              const port = 4000 + (pair % 10);
              const when = cuts[at];
              if (when !== undefined) {
                await cutOff(run, port, when);
                continue;
              }
              const answer = await start(run, port);
              statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
              if (answer.status !== 200) continue;
              const known = tokens.get(pair) ?? new Set();
              tokens.set(pair, known.add(answer.json<Session>().session_id));
            }
          };
          await Promise.all(Array.from({ length: 32 }, client));
          expect([...statuses.keys()]).toEqual([200]);
          expect(tokens.size).toBe(100);
          expect([...tokens.values()].filter((ids) => ids.size !== 1)).toEqual([]);
          const all = (await Promise.all(runs.map((run) => live(run.id)))).flat();
          expect(all.map((session) => session.session_id).sort()).toEqual(
            [...tokens.values()].flatMap((ids) => [...ids]).sort(),
          );
        },
      ),
      { numRuns: 1, endOnFailure: true },
    );
  }, 120_000);
});
