import { describe, expect, test } from '@jest/globals';
import {
  auditFinding,
  capacityFinding,
  certificateFinding,
  clockFinding,
  databaseFinding,
  diskFinding,
  type ExamineInstallationDeps,
  examineInstallation,
  gatewayFinding,
  imagesFinding,
  isolationFinding,
  policiesFinding,
  versionsFinding,
  poolFinding,
  quotaFinding,
  webhooksFinding,
} from '#core/diagnosis/examine-installation.ts';
import { PortholeError } from '#base/errors.ts';
import { SHIPPED_IMAGES } from '#core/images/image-catalogue.ts';
import type { GatewayState } from '#core/previews/preview-plane.ts';
import type { Webhook } from '#core/webhooks/webhook-store.ts';

const NOON = new Date('2026-06-01T12:00:00.000Z');
const later = (ms: number) => new Date(NOON.getTime() + ms);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const GIB = 2 ** 30;
const ENFORCED = { cpu: 'a', memoryMb: 'a', diskMb: 'a', network: 'a', processes: 'a', systemCalls: 'a' };
const pool = (warm: number, warmTarget: number) => ({
  warm,
  config: { warmTarget, refreshInterval: 1, maxInstances: 0, scaleBatchSize: 1 },
});
const hook = (change: Partial<Webhook> = {}) => ({
  id: 'whk_1',
  failingAt: null,
  disabledReason: null,
  ...change,
});
const gateway = (change: Partial<GatewayState> = {}) => ({
  addresses: 2,
  problems: [],
  certificateEnds: undefined,
  ...change,
});

test.each([
  ['a quick database', databaseFinding(0.2), 'ok', 'answers in 1 ms'],
  ['a slow database', databaseFinding(900), 'warning', 'answers in 900 ms'],
  ['the same time', clockFinding(-40, later(-9), NOON), 'ok', "agrees with the database's"],
  ['a clock that is late', clockFinding(3_000, undefined, NOON), 'warning', "3.0 s behind the database's"],
  [
    'a clock that is minutes ahead',
    clockFinding(-120_000, later(HOUR), NOON),
    'failed',
    "120.0 s ahead of the database's",
  ],
  [
    'a clock that was set back',
    clockFinding(0, later(HOUR), NOON),
    'warning',
    'was set back: the last head of the audit is of 2026-06-01T13:00:00.000Z',
  ],
  [
    'versions that work',
    versionsFinding(['Porthole 1.0.0', 'Kubernetes 1.30.0-gke.1'], undefined),
    'ok',
    'Porthole 1.0.0, Kubernetes 1.30.0-gke.1',
  ],
  ['an old Kubernetes', versionsFinding(['Kubernetes 1.29.9'], undefined), 'warning', 'Kubernetes 1.29.9'],
  [
    'a database of a newer version',
    versionsFinding(['Porthole 1.0.0'], '0050-more'),
    'warning',
    'Porthole 1.0.0; a newer Porthole has used this database (0050-more)',
  ],
  ['all limits', isolationFinding(ENFORCED), 'ok', 'every limit of a sandbox is enforced'],
  [
    'two limits that nothing enforces',
    isolationFinding({ ...ENFORCED, memoryMb: null, systemCalls: null }),
    'warning',
    'nothing limits memory, system calls of a sandbox',
  ],
  [
    'policies that hold',
    policiesFinding(true),
    'ok',
    'enforced: this pod cannot connect to a port that sandboxes have for the Gateway',
  ],
  [
    'policies that nothing enforces',
    policiesFinding(false),
    'warning',
    'not enforced: this pod can connect to a port that sandboxes have for the Gateway alone',
  ],
  ['images that run', imagesFinding([], 3), 'ok', '3 in the catalogue'],
  ['an image that is not there', imagesFinding(['go'], 3), 'warning', 'the provider cannot run go'],
  ['a quota with room', quotaFinding([{ what: 'pods', used: 3, most: 9 }]), 'ok', '3 of 9 pods'],
  [
    'a quota that is nearly used up',
    quotaFinding([
      { what: 'pods', used: 9, most: 10 },
      { what: 'persistentvolumeclaims', used: 2, most: 10 },
    ]),
    'warning',
    '9 of 10 pods, 2 of 10 persistentvolumeclaims',
  ],
  ['a quota without room', quotaFinding([{ what: 'pods', used: 0, most: 0 }]), 'failed', '0 of 0 pods'],
  ['no limit of sandboxes', capacityFinding(12, 0), 'ok', '12 running, without a limit'],
  ['room for more', capacityFinding(17, 20), 'ok', '17 of 20 running'],
  ['little room', capacityFinding(18, 20), 'warning', '18 of 20 running'],
  ['no room', capacityFinding(20, 20), 'failed', '20 of 20 running'],
  ['a warm pool', poolFinding(pool(2, 4)), 'ok', '2 of 4 ready'],
  ['a cold pool', poolFinding(pool(1, 4)), 'warning', '1 of 4 ready'],
  ['a chain that is complete', auditFinding(undefined, undefined, NOON), 'ok', undefined],
  ['an event of this minute', auditFinding(later(-60_000), later(-60_000), NOON), 'ok', undefined],
  [
    'an event that no pass has seen',
    auditFinding(later(-3_600_000), undefined, NOON),
    'warning',
    'an event waits since 2026-06-01T11:00:00.000Z to be put into the chain',
  ],
  [
    'a signed head that is not in the bucket',
    auditFinding(undefined, later(-3_600_000), NOON),
    'warning',
    'a signed head waits since 2026-06-01T11:00:00.000Z to be written to the bucket',
  ],
  ['a certificate', certificateFinding(later(60 * DAY), NOON), 'ok', 'valid until 2026-07-31T12:00:00.000Z'],
  ['one that was not renewed', certificateFinding(later(20 * DAY), NOON), 'warning', undefined],
  ['one that ended', certificateFinding(later(-1), NOON), 'failed', 'ended 2026-06-01T11:59:59.999Z'],
  ['webhooks', webhooksFinding([hook()], [{ dueAt: later(60_000) }], NOON), 'ok', '1, all delivered'],
  [
    'a receiver that restarts',
    webhooksFinding([hook({ failingAt: later(-60_000) })], [], NOON),
    'ok',
    undefined,
  ],
  [
    'a receiver that is away',
    webhooksFinding([hook(), hook({ failingAt: later(-2 * HOUR) })], [], NOON),
    'warning',
    '1 of 2 cannot be delivered, such as whk_1',
  ],
  ['a disabled webhook', webhooksFinding([hook({ disabledReason: 'gone' })], [], NOON), 'warning', undefined],
  [
    'a delivery that no pass has sent',
    webhooksFinding([hook()], [{ dueAt: later(-HOUR) }], NOON),
    'warning',
    'a delivery waits since 2026-06-01T11:00:00.000Z',
  ],
  ['a gateway without TLS', gatewayFinding(gateway(), NOON), 'ok', 'answers at 2 addresses'],
  [
    'a gateway',
    gatewayFinding(gateway({ addresses: 1, certificateEnds: later(60 * DAY) }), NOON),
    'ok',
    'answers at 1 address, certificate valid until 2026-07-31T12:00:00.000Z',
  ],
  [
    'its old certificate',
    gatewayFinding(gateway({ certificateEnds: later(DAY) }), NOON),
    'warning',
    undefined,
  ],
  ['a gateway that is away', gatewayFinding(gateway({ problems: ['Away.'] }), NOON), 'failed', 'Away.'],
  ['a disk', diskFinding({ free: 90 * GIB, total: 100 * GIB }), 'ok', '90.0 of 100 GiB free'],
  ['a disk that is nearly full', diskFinding({ free: GIB, total: 100 * GIB }), 'warning', undefined],
  ['a large disk with some room', diskFinding({ free: 6 * GIB, total: 1_000 * GIB }), 'ok', undefined],
  ['a full disk', diskFinding({ free: 0, total: 100 * GIB }), 'failed', undefined],
])('%s', (_what, found, state, detail) => {
  expect(found).toMatchObject({ state, ...(detail !== undefined && { detail }) });
  expect(found?.remedy === null).toBe(state === 'ok');
});

test('says nothing of what an installation does not have', () => {
  const found = [
    imagesFinding([], 0),
    poolFinding(pool(0, 0)),
    certificateFinding(undefined, NOON),
    diskFinding(undefined),
    webhooksFinding([], [], NOON),
    gatewayFinding(undefined, NOON),
  ];
  expect(found).toEqual(found.map(() => undefined));
});

describe('an installation', () => {
  const gone = () => Promise.reject(new PortholeError('service_unavailable', 'the database is gone'));
  const deps = {
    records: {
      database: () => Promise.resolve({ now: NOON, software: 'SQLite 3.50.4', newerStep: undefined }),
      sandboxes: { live: () => Promise.resolve({ items: [] }) },
      capacity: { countWanted: () => Promise.resolve(1) },
      audit: {
        oldestLoose: () => Promise.resolve(undefined),
        lastHead: () => Promise.resolve(undefined),
      },
      webhooks: { list: () => Promise.resolve([]), due: () => Promise.resolve([]) },
    },
    sandboxes: {
      inspect: () => Promise.resolve({ state: 'absent', podName: '' }),
      enforcement: () => Promise.resolve(ENFORCED),
      runsImage: () => Promise.resolve(true),
    },
    plane: {},
    pool: { stats: () => Promise.resolve({ ...pool(0, 0), assigned: 0, total: 0, maxInstances: null }) },
    clock: { now: () => NOON },
    images: SHIPPED_IMAGES,
    installationId: 'here',
    maxInstances: 0,
    about: {
      provider: 'local',
      describe: () => Promise.resolve('local, bubblewrap'),
      software: () => Promise.resolve(['Porthole 1.0.0']),
      certificateEnds: () => Promise.resolve(undefined),
      disk: () => Promise.resolve(undefined),
    },
    warnings: () => ['A key is short: set a longer one.'],
  } as unknown as ExamineInstallationDeps;

  test('has a line for each thing that it needs, and its warnings', async () => {
    expect((await examineInstallation(deps)).map(({ name, state }) => `${name} ${state}`)).toEqual([
      'database ok',
      'clock ok',
      'versions ok',
      'sandboxes ok',
      'isolation ok',
      'capacity ok',
      'audit ok',
      'settings warning',
    ]);
  });

  test('has the images of a provider that runs them', async () => {
    const sandboxes = {
      ...deps.sandboxes,
      runsImage: (reference: string) => Promise.resolve(!reference.includes('/multi:')),
    };
    const checks = await examineInstallation({
      ...deps,
      sandboxes,
      about: { ...deps.about, provider: 'docker' },
    });
    expect(checks.find(({ name }) => name === 'images')).toMatchObject({
      state: 'warning',
      detail: 'the provider cannot run multi',
    });
  });

  test('without its database fails where it needs it, and says why', async () => {
    const records = { ...deps.records, database: gone, capacity: { countWanted: gone } };
    const checks = await examineInstallation({ ...deps, records: records as unknown as typeof deps.records });
    expect(checks.filter(({ state }) => state === 'failed')).toEqual(
      ['database', 'clock', 'capacity'].map((name) => ({
        name,
        state: 'failed',
        detail: 'the database is gone',
        remedy: 'Look at its own logs and at the network.',
      })),
    );
  });

  test('does not wait for a provider that never answers', async () => {
    const sandboxes = { ...deps.sandboxes, inspect: () => new Promise<never>(() => undefined) };
    const began = performance.now();
    const checks = await examineInstallation({ ...deps, sandboxes });
    expect(checks.find(({ name }) => name === 'sandboxes')).toMatchObject({
      state: 'failed',
      detail: 'no answer within 5 s',
    });
    expect(performance.now() - began).toBeLessThan(10_000);
  }, 20_000);
});
