/** A reaper's pass on a real API server that fails. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PortholeError } from '#core/errors.ts';
import { BOX } from '#test/adapters/kubernetes/plane-bed.ts';
import { suite } from '#test/support/suite.ts';
import { missing } from '../bed/cluster.ts';
import { type FaultBed, openFaultBed } from './fault-bed.ts';
import { FAULTS, spoil } from './fault-table.ts';
import { type FaultyFunction, impatient, mostTries, type Timeouts } from './faulty-function.ts';

const MINUTE = 60_000;
const PATIENT: Timeouts = { tryTimeoutMs: 1_500, callTimeoutMs: 10_000, startTimeoutMs: 20_000 };
const HASTY: Timeouts = { tryTimeoutMs: 400, callTimeoutMs: 2_000, startTimeoutMs: 4_000 };

/** What a pass calls that ends two previews and removes what is left of a third. */
const CALLS = ['list httproutes', 'list services', 'get httproutes', 'delete httproutes', 'delete services'];

/** Previews that nobody has kept alive. */
async function leavePreviews(bed: FaultBed, namespace: string, fn: FaultyFunction): Promise<void> {
  const past = new Date(Date.now() - 1_000);
  const ports = [BOX.listens, BOX.silent];
  await Promise.all(ports.map((port) => bed.planeOf(namespace).open({ ...fn.spec(port), expiresAt: past })));
}

/** A start's Service without its route. */
async function leaveHalf(bed: FaultBed, namespace: string, fn: FaultyFunction): Promise<void> {
  await bed.leaveHalf(namespace, fn.spec(BOX.listens + 2).token, fn.runId);
}

suite('a reaper on a real API server', missing(), () => {
  let bed: FaultBed;
  const inThreeMinutes = () => new Date(Date.now() + 3 * MINUTE);
  beforeAll(async () => {
    bed = await openFaultBed();
  });
  afterAll(() => bed.close());

  test(
    'whose calls fail once ends what is due all the same, and each thing once',
    async () => {
      const cells = Object.entries(FAULTS).map(async ([title, fault], at) => {
        const namespace = await bed.newNamespace(`reaper-once-${at}`);
        const outcomes = [];
        for (const call of CALLS) {
          const outcome = await bed.withFunction(namespace, PATIENT, async (fn) => {
            await leavePreviews(bed, namespace, fn);
            await leaveHalf(bed, namespace, fn);
            fn.proxy.fault = spoil(call, fault, 1);
            const report = await bed.pass(fn.plane, namespace, inThreeMinutes());
            const hits = fn.proxy.calls.filter((each) => each.fault !== undefined).length;
            return { report, hits, impatient: impatient(fn.proxy.calls), left: await bed.left(namespace) };
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
    'one of whose calls fails for good says so, and the next two passes do what it could not',
    async () => {
      const cells = Object.entries(FAULTS).map(async ([title, fault], at) => {
        const namespace = await bed.newNamespace(`reaper-for-good-${at}`);
        const outcomes = [];
        for (const call of CALLS) {
          const outcome = await bed.withFunction(namespace, HASTY, async (fn) => {
            // A Service that cannot be deleted with its preview is tried again as a half in the same pass: two calls, and here one is wanted.
            if (call !== 'delete services') await leavePreviews(bed, namespace, fn);
            await leaveHalf(bed, namespace, fn);
            fn.proxy.fault = spoil(call, fault, 1, Number.POSITIVE_INFINITY);
            const told = await bed.pass(fn.plane, namespace, inThreeMinutes()).then(
              () => 'done',
              (error: unknown) => {
                const errors: unknown[] = error instanceof AggregateError ? error.errors : [error];
                return errors.every((each) => each instanceof PortholeError)
                  ? [...new Set(errors.map(({ code }) => code))].join(', ')
                  : error;
              },
            );
            await bed.pass(bed.planeOf(namespace), namespace, inThreeMinutes());
            await bed.pass(bed.planeOf(namespace), namespace, inThreeMinutes());
            return {
              told,
              isTooMany: mostTries(fn.proxy.calls) > 5,
              impatient: impatient(fn.proxy.calls),
              left: await bed.left(namespace),
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
            told: 'service_unavailable',
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
