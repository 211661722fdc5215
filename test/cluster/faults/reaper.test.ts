/** A reaper's pass on a real API server that fails. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PortholeError } from '#base/errors.ts';
import { BOX } from '#test/adapters/kubernetes/plane-fixture.ts';
import { suite } from '#test/support/suite.ts';
import { missing } from '../fixture/cluster.ts';
import { type FaultFixture, openFaultFixture } from './fault-fixture.ts';
import { FAULTS, spoil } from './fault-table.ts';
import { type FaultyFunction, impatient, mostTries, type Timeouts } from './faulty-function.ts';

const MINUTE = 60_000;
const PATIENT: Timeouts = { tryTimeoutMs: 1_500, callTimeoutMs: 10_000, startTimeoutMs: 20_000 };
const HASTY: Timeouts = { tryTimeoutMs: 400, callTimeoutMs: 2_000, startTimeoutMs: 4_000 };

/** The calls of a pass that ends two previews and collects a third partial one. */
const CALLS = ['list httproutes', 'list services', 'get httproutes', 'delete httproutes', 'delete services'];

/** Previews without a keepalive. */
async function leavePreviews(fixture: FaultFixture, namespace: string, fn: FaultyFunction): Promise<void> {
  const past = new Date(Date.now() - 1_000);
  const ports = [BOX.listens, BOX.silent];
  await Promise.all(
    ports.map((port) => fixture.planeOf(namespace).open({ ...fn.spec(port), expiresAt: past })),
  );
}

/** A start's Service without its route. */
async function leavePartial(fixture: FaultFixture, namespace: string, fn: FaultyFunction): Promise<void> {
  await fixture.leavePartial(namespace, fn.spec(BOX.listens + 2).token, fn.runId);
}

suite('a reaper on a real API server', missing(), () => {
  let fixture: FaultFixture;
  const inThreeMinutes = () => new Date(Date.now() + 3 * MINUTE);
  beforeAll(async () => {
    fixture = await openFaultFixture();
  });
  afterAll(() => fixture.close());

  test(
    'ends what is due although calls fail once, and each object once',
    async () => {
      const cells = Object.entries(FAULTS).map(async ([title, fault], at) => {
        const namespace = await fixture.newNamespace(`reaper-once-${at}`);
        const outcomes = [];
        for (const call of CALLS) {
          const outcome = await fixture.withFunction(namespace, PATIENT, async (fn) => {
            await leavePreviews(fixture, namespace, fn);
            await leavePartial(fixture, namespace, fn);
            fn.proxy.fault = spoil(call, fault, 1);
            const report = await fixture.pass(fn.plane, namespace, inThreeMinutes());
            const hits = fn.proxy.calls.filter((each) => each.fault !== undefined).length;
            return {
              report,
              hits,
              impatient: impatient(fn.proxy.calls),
              left: await fixture.left(namespace),
            };
          });
          outcomes.push({ cell: `${call}: ${title}`, ...outcome });
        }
        return outcomes;
      });
      const report = { seen: 2, kept: 0, reaped: 2, lost: 0, swept: 1 };
      expect((await Promise.all(cells)).flat()).toEqual(
        Object.keys(FAULTS).flatMap((title) =>
          CALLS.map((call) => ({ cell: `${call}: ${title}`, report, hits: 1, impatient: [], left: [] })),
        ),
      );
    },
    3 * MINUTE,
  );

  test(
    'says so when one call always fails, and the next two passes do the rest',
    async () => {
      const cells = Object.entries(FAULTS).map(async ([title, fault], at) => {
        const namespace = await fixture.newNamespace(`reaper-for-good-${at}`);
        const outcomes = [];
        for (const call of CALLS) {
          const outcome = await fixture.withFunction(namespace, HASTY, async (fn) => {
            // If a Service cannot be deleted with its preview, the same pass retries it as a
            // partial preview: two calls, and this test needs one.
            if (call !== 'delete services') await leavePreviews(fixture, namespace, fn);
            await leavePartial(fixture, namespace, fn);
            fn.proxy.fault = spoil(call, fault, 1, Number.POSITIVE_INFINITY);
            const reported = await fixture.pass(fn.plane, namespace, inThreeMinutes()).then(
              () => 'done',
              (error: unknown) => {
                const errors: unknown[] = error instanceof AggregateError ? error.errors : [error];
                return errors.every((each) => each instanceof PortholeError)
                  ? [...new Set(errors.map(({ code }) => code))].join(', ')
                  : error;
              },
            );
            await fixture.pass(fixture.planeOf(namespace), namespace, inThreeMinutes());
            await fixture.pass(fixture.planeOf(namespace), namespace, inThreeMinutes());
            return {
              reported,
              isTooMany: mostTries(fn.proxy.calls) > 5,
              impatient: impatient(fn.proxy.calls),
              left: await fixture.left(namespace),
            };
          });
          outcomes.push({ cell: `${call}: ${title}`, ...outcome });
        }
        return outcomes;
      });
      expect((await Promise.all(cells)).flat()).toEqual(
        Object.keys(FAULTS).flatMap((title) =>
          CALLS.map((call) => ({
            cell: `${call}: ${title}`,
            reported: 'service_unavailable',
            isTooMany: false,
            impatient: [],
            left: [],
          })),
        ),
      );
    },
    3 * MINUTE,
  );
});
