/** Each call that a preview's life makes of a real API server, failing in each possible way. */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { gate } from '#adapters/kubernetes/client/exchange.ts';
import { BOX } from '#test/adapters/kubernetes/plane-fixture.ts';
import type { Fault } from '#test/doubles/api-server/fake-api-server.ts';
import { collect } from '#test/support/collect.ts';
import { suite } from '#test/support/suite.ts';
import { missing } from '../fixture/cluster.ts';
import { type FaultFixture, openFaultFixture, wholePassAfter } from './fault-fixture.ts';
import { FAULTS, spoil } from './fault-table.ts';
import { impatient, mostTries, type Timeouts, type Report } from './faulty-function.ts';

const MINUTE = 60_000;

/** Lives in flight at once. */
const AT_ONCE = 40;
/** Long enough that a busy machine is not taken for a fault. */
const PATIENT: Timeouts = { tryTimeoutMs: 1_500, callTimeoutMs: 10_000, startTimeoutMs: 20_000 };
/** A try outlasts the delay of a busy machine for a call without a fault. */
const HASTY: Timeouts = { tryTimeoutMs: 1_000, callTimeoutMs: 3_000, startTimeoutMs: 6_000 };
/** For a server that fails every request. */
const RASH: Timeouts = { tryTimeoutMs: 150, callTimeoutMs: 600, startTimeoutMs: 1_200 };
/** A step of a hasty function is a start, or up to four calls; and the machine may be busy. */
const HASTY_STEP_MS = 4 * HASTY.callTimeoutMs + 2_000;

/** The caller's deadline, and how much later a busy machine may report it. */
const DEADLINE_MS = 300;
const LATE_MS = 1_000;

/**
 * The calls of a life. A start that finds another's partial preview reads and claims its Service.
 */
const CALLS = [
  'create services',
  'create httproutes',
  'get httproutes',
  'list services',
  'list httproutes',
  'patch httproutes',
  'delete httproutes',
  'delete services',
  'get services',
  'patch services',
];
const OF_A_CLAIM = new Set(['get services', 'patch services']);

/** The result of each step if every fault is transient. */
const SUCCESS: Readonly<Record<string, unknown>> = {
  start: { ready: true },
  again: true,
  keepalive: true,
  list: 1,
  find: true,
  stop: 'stopped',
};

/**
 * Other possible results of each step: the cluster does not answer, or the consequences of a start
 * that it prevented.
 */
const OUTAGE: Readonly<Record<string, readonly unknown[]>> = {
  start: ['service_unavailable'],
  again: ['service_unavailable'],
  keepalive: ['service_unavailable', 'preview_not_found'],
  list: ['service_unavailable', 0],
  find: ['service_unavailable', false],
  stop: ['service_unavailable', 'preview_not_found'],
};

const BURST: Fault = { kind: 'status', status: 503, committed: false };

suite('a function on a real API server', missing(), () => {
  let fixture: FaultFixture;
  beforeAll(async () => {
    fixture = await openFaultFixture();
  });
  afterAll(() => fixture.close());

  const outcomeOf = (reported: readonly Report[]) =>
    Object.fromEntries(reported.map(({ step, came }) => [step, came]));

  test(
    'retries calls that fail once, or three times in a row, and leaves nothing behind',
    async () => {
      const namespace = await fixture.newNamespace('once');
      const oneOfFew = gate(AT_ONCE);
      const hit = new Set<string>();
      const cells = CALLS.flatMap((call) => [
        ...Object.entries(FAULTS).flatMap(([title, fault]) =>
          [1, 2, 3].map((first) => ({ title, fault, call, first, last: first })),
        ),
        { title: 'three 503', fault: BURST, call, first: 1, last: 3 },
      ]);
      const outcomes = await Promise.all(
        cells.map(({ title, fault, call, first, last }) =>
          oneOfFew(() =>
            fixture.withFunction(namespace, PATIENT, async ({ proxy, token, runId, life }) => {
              if (OF_A_CLAIM.has(call)) await fixture.leavePartial(namespace, token, runId);
              proxy.fault = spoil(call, fault, first, last);
              const came = outcomeOf(await life());
              if (proxy.calls.some((each) => each.fault !== undefined)) hit.add(`${call}: ${title}`);
              return { cell: `${call} ${first}: ${title}`, came, impatient: impatient(proxy.calls) };
            }),
          ),
        ),
      );
      const failed = outcomes.filter(
        ({ came, impatient: calls }) => !isDeepStrictEqual(came, SUCCESS) || calls.length > 0,
      );
      expect(failed).toEqual([]);
      expect(hit.size).toBe(CALLS.length * (Object.keys(FAULTS).length + 1));
      // A Service claimed by a start stays until no other start can rely on it.
      const plane = fixture.planeOf(namespace);
      await fixture.pass(plane, namespace, new Date(Date.now() + 3 * MINUTE));
      await fixture.pass(plane, namespace, new Date(Date.now() + 4 * MINUTE));
      expect(await fixture.left(namespace)).toEqual([]);
    },
    3 * MINUTE,
  );

  test(
    'gives up in time when one call always fails, says so, and leaves nothing that two passes do not remove',
    async () => {
      const namespace = await fixture.newNamespace('for-good');
      const oneOfFew = gate(AT_ONCE);
      const cells = Object.entries(FAULTS).flatMap(([title, fault]) =>
        CALLS.map((call) => ({ title, fault, call })),
      );
      const outcomes = await Promise.all(
        cells.map(({ title, fault, call }) =>
          oneOfFew(() =>
            fixture.withFunction(namespace, HASTY, async ({ proxy, token, runId, life }) => {
              if (OF_A_CLAIM.has(call)) await fixture.leavePartial(namespace, token, runId);
              proxy.fault = spoil(call, fault, 1, Number.POSITIVE_INFINITY);
              const reported = await life();
              return reported.map(({ step, came, milliseconds, calls }) => ({
                step: `${step}, ${call}: ${title}`,
                came,
                isRight: isDeepStrictEqual(came, SUCCESS[step]) || OUTAGE[step]?.includes(came),
                tries: mostTries(calls),
                milliseconds,
                impatient: impatient(calls),
              }));
            }),
          ),
        ),
      );
      const failed = outcomes
        .flat()
        .filter(
          ({ isRight, tries, milliseconds, impatient: calls }) =>
            isRight !== true || tries > 5 || milliseconds > HASTY_STEP_MS || calls.length > 0,
        );
      expect(failed).toEqual([]);
      const plane = fixture.planeOf(namespace);
      await fixture.pass(plane, namespace, wholePassAfter(40));
      await fixture.pass(plane, namespace, wholePassAfter(50));
      expect(await fixture.left(namespace)).toEqual([]);
    },
    3 * MINUTE,
  );

  describe.each<readonly [string, Fault]>([
    ['answers nothing', { kind: 'silence', committed: false }],
    ['resets every connection', { kind: 'reset', committed: false }],
    ['is unavailable', { kind: 'status', status: 503, committed: false }],
    ['asks for half a minute', { kind: 'status', status: 429, retryAfterSeconds: 30, committed: false }],
  ])('that %s', (_title, fault) => {
    test('is reported in time by every step, after five tries of a call at most', async () => {
      const namespace = await fixture.newNamespace(
        `gone-${fault.kind}-${'status' in fault ? fault.status : 0}`,
      );
      await fixture.withFunction(namespace, RASH, async ({ proxy, life }) => {
        proxy.fault = () => fault;
        const reported = await life();
        expect(outcomeOf(reported)).toEqual(
          Object.fromEntries(Object.keys(SUCCESS).map((step) => [step, 'service_unavailable'])),
        );
        for (const { calls, milliseconds } of reported) {
          expect(calls.length).toBeGreaterThan(0);
          expect(mostTries(calls)).toBeLessThanOrEqual(5);
          expect(milliseconds).toBeLessThan(HASTY_STEP_MS);
        }
      });
    });
  });

  test.each<readonly [string, Fault]>([
    ['answers nothing', { kind: 'silence', committed: false }],
    ['asks for five seconds', { kind: 'status', status: 429, retryAfterSeconds: 5, committed: false }],
  ])('that %s delays no caller beyond its timeout', async (_title, fault) => {
    const namespace = await fixture.newNamespace(`late-${fault.kind}`);
    await fixture.withFunction(namespace, PATIENT, async ({ proxy, plane, spec, runId }) => {
      const { preview } = await plane.open(spec(BOX.listens));
      const other = spec(BOX.silent);
      proxy.fault = () => fault;
      const steps: Readonly<Record<string, (signal: AbortSignal) => Promise<unknown>>> = {
        open: (signal) => plane.open(other, signal),
        find: (signal) => plane.find(preview.token, signal),
        touch: (signal) => plane.touch(preview.token, runId, new Date(), signal),
        close: (signal) => plane.close(preview, { uid: preview.uid }, signal),
        list: (signal) => collect(plane.list({ runId }, signal)),
        sweep: (signal) => plane.sweep(new Date(), signal),
      };
      for (const [step, does] of Object.entries(steps)) {
        const began = performance.now();
        const came: unknown = await does(AbortSignal.timeout(DEADLINE_MS)).catch((error: unknown) => error);
        expect({ step, came }).toMatchObject({ step, came: { name: 'TimeoutError' } });
        expect(performance.now() - began).toBeLessThan(DEADLINE_MS + LATE_MS);
      }
    });
  });
});
