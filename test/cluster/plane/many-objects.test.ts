import { NO_NETWORK } from '#core/network/network-policy.ts';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  collection,
  HTTP_ROUTES,
  SERVICES,
  type KubernetesObject,
} from '#adapters/kubernetes/client/kubernetes-object.ts';
import { gate } from '#adapters/kubernetes/client/exchange.ts';
import { tokenSha256 } from '#core/previews/preview-token.ts';
import { isFullPass } from '#core/previews/preview-lifetime.ts';
import { type ReapReport, reapPreviews } from '#core/previews/reap-previews.ts';
import { collect } from '#test/support/collect.ts';
import { suite } from '#test/support/suite.ts';
import { cluster, missing } from '../fixture/cluster.ts';
import { type ForgetfulServer, startForgetfulServer } from './forgetful-server.ts';
import { MAKINGS, OBJECTS, type Planted, plants, shareOf } from './many-objects.ts';
import { openPlaneHarness, type PlaneHarness } from './plane-harness.ts';

const MINUTE = 60_000;
const AT_ONCE = 16;

suite(`two reapers at once among ${OBJECTS} objects on a real API server`, missing(), () => {
  let harness: PlaneHarness;
  let planted: Planted[];
  const servers: ForgetfulServer[] = [];

  beforeAll(async () => {
    harness = await openPlaneHarness(await cluster(), { name: 'many' });
    planted = Object.keys(MAKINGS).flatMap((making) => plants(making, harness.previewSettings));
    await plant();
    const { previews, sandboxes } = harness.records;
    const at = new Date();
    await previews.bury(
      plants('stopped', harness.previewSettings).map(({ token }) => ({
        tokenSha256: tokenSha256(token),
        runId: 'run_0',
        reason: 'stopped',
        at,
      })),
    );
    for (const { sandboxId } of plants('without its sandbox', harness.previewSettings)) {
      const owner = { user: 'alice', org: 'acme' };
      const destroyed = { desired: 'destroyed', observed: 'destroyed' } as const;
      await sandboxes.create({
        id: sandboxId,
        owner,
        image: null,
        sessionKey: null,
        name: null,
        tags: {},
        resources: {},
        network: NO_NETWORK,
        env: {},
        place: 'here',
        createdAt: at,
        ...destroyed,
      });
    }
    for (let count = 0; count < 2; count += 1)
      servers.push(await startForgetfulServer(harness.access, shareOf(500)));
  }, 10 * MINUTE);
  afterAll(async () => {
    for (const each of servers) await each.close();
    await harness.close();
  });

  async function plant(): Promise<void> {
    const { client, namespace } = harness;
    const oneOfFew = gate(AT_ONCE);
    const routes = collection(HTTP_ROUTES, namespace);
    const services = collection(SERVICES, namespace);
    await Promise.all(
      planted.map(({ service, route }) =>
        oneOfFew(async () => {
          const stored = service && (await client.create<KubernetesObject>(services, service)).metadata;
          if (route !== undefined) await client.create(routes, route(stored));
        }),
      ),
    );
  }

  /** Versions of all objects of both kinds, by kind and name. */
  async function existing(): Promise<Map<string, string>> {
    const { client, namespace } = harness;
    const versions = new Map<string, string>();
    for (const kind of [HTTP_ROUTES, SERVICES]) {
      const query = { metadataOnly: true };
      for (const { metadata } of await collect(client.list(collection(kind, namespace), query)))
        versions.set(`${kind.plural} ${metadata.name}`, metadata.resourceVersion);
    }
    return versions;
  }

  const keysOf = ({ name, service, route }: Planted) => [
    ...(route === undefined ? [] : [`httproutes ${name}`]),
    ...(service === undefined ? [] : [`services ${name}`]),
  ];

  async function passAt(time: number): Promise<ReapReport> {
    const clock = { now: () => new Date(time) };
    const reports = await Promise.all(
      servers.map(({ access: through }) => reapPreviews(harness.another({ clock, through }))),
    );
    const sum = (count: (report: ReapReport) => number) =>
      reports.reduce((all, report) => all + count(report), 0);
    return {
      seen: sum(({ seen }) => seen),
      kept: sum(({ kept }) => kept),
      reaped: sum(({ reaped }) => reaped),
      lost: sum(({ lost }) => lost),
      swept: sum(({ swept }) => swept),
    };
  }

  it(
    'end every dead one of ours, and touch nothing else, through lists that expire',
    async () => {
      const before = await existing();
      expect(before.size).toBe(OBJECTS);
      const expected = new Map(before);
      const end = (fate: string) => {
        for (const each of planted.filter((one) => one.fate === fate))
          for (const key of keysOf(each)) expected.delete(key);
      };

      // Remains of starts must be two minutes old.
      let time = Date.now() + 3 * MINUTE;
      if (isFullPass(new Date(time))) time += MINUTE;
      const due = await passAt(time);
      end('due');
      expect([due.reaped, due.swept]).toEqual([shareOf(600), shareOf(200)]);
      expect(due.seen).toBeLessThan(shareOf(4_000));
      expect(await existing()).toEqual(expected);

      while (!isFullPass(new Date(time))) time += MINUTE;
      const full = await passAt(time);
      end('found');
      expect([full.reaped, full.swept]).toEqual([shareOf(450), 0]);
      expect(await existing()).toEqual(expected);
      expect(expected.size).toBe(shareOf(4_700 + 3_000));

      for (const { expired } of servers) expect(expired).toEqual({ offered: 2, refused: 2 });
    },
    10 * MINUTE,
  );
});
