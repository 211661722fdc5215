import { describe, expect, test } from '@jest/globals';
import { PortholeError } from '#base/errors.ts';
import type { PreviewSpec } from '#core/previews/preview-plane.ts';
import type { ApiCall, Fault } from '#test/doubles/api-server/fake-api-server.ts';
import { collect } from '#test/support/collect.ts';
import { NOON, type PlaneFixture, planeFixture } from './plane-fixture.ts';

const FAULTS: Readonly<Record<string, Fault>> = {
  'no answer, before it took effect': { kind: 'silence', committed: false },
  'no answer, after it took effect': { kind: 'silence', committed: true },
  'a reset, before it took effect': { kind: 'reset', committed: false },
  'a reset, after it took effect': { kind: 'reset', committed: true },
  'a conflict': { kind: 'status', status: 409, committed: false },
  'too many requests': { kind: 'status', status: 429, committed: false },
  'an internal error, before it took effect': { kind: 'status', status: 500, committed: false },
  'an internal error, after it took effect': { kind: 'status', status: 500, committed: true },
  'unavailable, before it took effect': { kind: 'status', status: 503, committed: false },
  'unavailable, after it took effect': { kind: 'status', status: 503, committed: true },
};

const CALLS = [
  'create services',
  'create httproutes',
  'get services',
  'get httproutes',
  'list services',
  'list httproutes',
  'patch services',
  'patch httproutes',
  'delete services',
  'delete httproutes',
];

const callOf = ({ verb, plural }: ApiCall) => `${verb} ${plural}`;

/** All steps of a preview's life; each step is reported, whether it succeeds or not. */
async function life({ plane, server }: PlaneFixture, spec: PreviewSpec): Promise<string[]> {
  const reported: string[] = [];
  const step = async (name: string, does: () => Promise<unknown>) => {
    try {
      reported.push(`${name}: ${JSON.stringify(await does())}`);
    } catch (error) {
      if (!(error instanceof PortholeError)) throw error;
      reported.push(`${name}: ${error.code}`);
    }
  };
  await step('open', async () => (await plane.open(spec)).created);
  await step('again', async () => (await plane.open(spec)).created);
  await step('touch', async () => {
    const kept = await plane.touch(spec.token, spec.runId, new Date(spec.expiresAt.getTime() + 60_000));
    return kept?.expiresAt;
  });
  await step('list', async () => (await collect(plane.list({ runId: spec.runId }))).length);
  await step('find', async () => (await plane.find(spec.token))?.name !== undefined);
  const name = server.store.all('httproutes')[0]?.metadata.name ?? 'none';
  await step('close', () => plane.close({ name }));
  return reported;
}

/** Runs the sweep twice, three minutes later; any partial preview left is a leak. */
async function leaks({ server, another }: PlaneFixture): Promise<string[]> {
  server.fault = undefined;
  const { plane } = another();
  const later = new Date(NOON.getTime() + 180_000);
  await plane.sweep(later);
  await plane.sweep(later);
  const names = (plural: string) => server.store.all(plural).map(({ metadata }) => metadata.name);
  const [services, routes] = [names('services'), names('httproutes')];
  return [
    ...services.filter((name) => !routes.includes(name)),
    ...routes.filter((name) => !services.includes(name)),
  ];
}

async function inFixture<T>(does: (fixture: PlaneFixture) => Promise<T>): Promise<T> {
  const fixture = await planeFixture({ tryTimeoutMs: 400, callTimeoutMs: 3_000 });
  try {
    return await does(fixture);
  } finally {
    await fixture.close();
  }
}

// Loads the modules of a first start here: jest allows no import in concurrent tests.
await inFixture(async ({ plane, spec }) => plane.open(spec()));

const SUCCESS = [
  'open: true',
  'again: false',
  'touch: "2026-03-01T12:36:00.000Z"',
  'list: 1',
  'find: true',
  'close: true',
];

describe.each(Object.entries(FAULTS))('%s', (_name, fault) => {
  test.concurrent.each([1, 2, 3])(
    'of any call, the %i. time it is made, is made up for and leaks nothing',
    async (time) => {
      const outcomes = await Promise.all(
        CALLS.map((call) =>
          inFixture(async (fixture) => {
            let times = 0;
            fixture.server.fault = (each) => {
              if (callOf(each) !== call) return undefined;
              times += 1;
              return times === time ? fault : undefined;
            };
            return { call, reported: await life(fixture, fixture.spec()), leaks: await leaks(fixture) };
          }),
        ),
      );
      expect(outcomes).toEqual(CALLS.map((call) => ({ call, reported: SUCCESS, leaks: [] })));
    },
  );

  test.concurrent('of one call for good is given up after five tries, and leaks nothing', async () => {
    const outcomes = await Promise.all(
      CALLS.map((call) =>
        inFixture(async (fixture) => {
          fixture.server.fault = (each) => (callOf(each) === call ? fault : undefined);
          const spec = fixture.spec();
          await fixture.plane.open(spec).catch(() => undefined);
          const tries = fixture.server.calls.filter((each) => callOf(each) === call).length;
          await life(fixture, spec);
          return { call, tooMany: tries > 5 ? tries : 0, leaks: await leaks(fixture) };
        }),
      ),
    );
    expect(outcomes).toEqual(CALLS.map((call) => ({ call, tooMany: 0, leaks: [] })));
  });
});

test('waits as long as the API server asks for', async () => {
  const fixture = await planeFixture();
  try {
    const fault: Fault = { kind: 'status', status: 429, retryAfterSeconds: 1, committed: false };
    for (const call of ['create services', 'create httproutes', 'patch httproutes', 'delete httproutes']) {
      let faults = 1;
      fixture.server.fault = (each) => (callOf(each) === call && faults-- > 0 ? fault : undefined);
      const before = fixture.server.calls.length;
      await life(fixture, fixture.spec());
      const [first, second] = fixture.server.calls.slice(before).filter((each) => callOf(each) === call);
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(990);
    }
  } finally {
    await fixture.close();
  }
});

test('begins no wait that would pass the time of the call', async () => {
  const fixture = await planeFixture({ callTimeoutMs: 500 });
  try {
    fixture.server.fault = () => ({ kind: 'status', status: 429, retryAfterSeconds: 30, committed: false });
    await expect(fixture.plane.find(fixture.spec().token)).rejects.toMatchObject({
      code: 'service_unavailable',
    });
    expect(fixture.server.calls).toHaveLength(1);
  } finally {
    await fixture.close();
  }
});

test('opens once the quota of a new namespace is counted, and asks to try again until then', async () => {
  const quota: Record<string, number | 'unknown'> = { httproutes: 'unknown' };
  const fixture = await planeFixture({ quota });
  try {
    await expect(fixture.plane.open(fixture.spec())).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await leaks(fixture)).toEqual([]);
    let tries = 0;
    fixture.server.fault = (each) => {
      if (callOf(each) === 'create httproutes' && (tries += 1) === 3) quota['httproutes'] = 40;
      return undefined;
    };
    expect((await fixture.plane.open(fixture.spec())).created).toBe(true);
    expect(tries).toBe(3);
  } finally {
    await fixture.close();
  }
});
