/** The life of a sandbox on a real cluster with a failing API server. */

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { gate } from '#adapters/kubernetes/client/exchange.ts';
import { collection, type Kind, PODS, VOLUME_CLAIMS } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { readKubeconfig } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import { createKubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import { KubernetesProvider } from '#adapters/kubernetes/sandboxes/kubernetes-provider.ts';
import { type TestProvider, withGuests } from '#test/support/with-guests.ts';
import { importPlainImage, PLAIN_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { sandboxId } from '#test/contracts/sandbox-provider.contract.ts';
import type { Fault } from '#test/doubles/api-server/fake-api-server.ts';
import { collect } from '#test/support/collect.ts';
import { suite } from '#test/support/suite.ts';
import { cluster, missing } from '../fixture/cluster.ts';
import { GUEST } from '../guards/actor.ts';
import { type FaultFixture, openFaultFixture } from './fault-fixture.ts';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import { callOf, FAULTS, spoil } from './fault-table.ts';
import { codeOf, impatient, mostTries } from './faulty-function.ts';

const MINUTE = 60_000;
/** Sandboxes in flight at once. */
const AT_ONCE = 8;
/** Time for a pod to start on a busy machine. */
const SETTLE_MS = 60_000;

const CALLS = [
  'create persistentvolumeclaims',
  'create pods',
  'get persistentvolumeclaims',
  'get pods',
  'watch pods',
  'delete pods',
  'delete persistentvolumeclaims',
];
/** Permanent faults: the call that had no effect, and the one that had its full effect. */
const FOR_GOOD = ['503, before it took effect', 'no answer, after it took effect'];

/** Possible results of a step that the cluster prevents. */
const MAY_BE_TOLD = new Set(['exec_transport_error', 'sandbox_not_running']);

interface Sandbox {
  readonly id: string;
  readonly proxy: FaultProxy;
  readonly provider: TestProvider;
}

/** The steps of a sandbox's life, and its state after each. */
const STEPS: readonly (readonly [string, (provider: TestProvider, id: string) => Promise<void>, string])[] = [
  ['create', (provider, id) => provider.create({ id }), 'running'],
  ['stop', (provider, id) => provider.stop(id), 'stopped'],
  ['resume', (provider, id) => provider.resume(id), 'running'],
  ['destroy', (provider, id) => provider.destroy(id), 'absent'],
];

suite('a sandbox on a real cluster', missing(), () => {
  let fixture: FaultFixture;
  beforeAll(async () => {
    fixture = await openFaultFixture();
    await importPlainImage(await cluster());
  });
  afterAll(() => fixture.close());

  const withSandbox = async <T>(
    namespace: string,
    timeouts: { tryTimeoutMs: number; callTimeoutMs: number; settleWithinMs: number },
    does: (sandbox: Sandbox) => Promise<T>,
  ): Promise<T> => {
    const proxy = await startFaultProxy(await readKubeconfig((await cluster()).kubeconfig));
    const client = createKubernetesClient({ access: proxy.access, ...timeouts });
    const provider = withGuests(
      new KubernetesProvider({
        client,
        access: proxy.access,
        namespace,
        image: PLAIN_IMAGE,
        pod: { memoryMebibytes: 128 },
        guest: GUEST,
        settleWithinMs: timeouts.settleWithinMs,
        openWithinMs: timeouts.tryTimeoutMs,
      }),
    );
    try {
      return await does({ id: sandboxId(), proxy, provider });
    } finally {
      await provider.close();
      client.close();
      await proxy.close();
    }
  };
  const left = async (namespace: string): Promise<string[]> => {
    const names = async (kind: Kind) => {
      const found = await collect(fixture.client.list(collection(kind, namespace), { metadataOnly: true }));
      return found.map(({ metadata }) => `${kind.plural} ${metadata.name}`);
    };
    return [...(await names(PODS)), ...(await names(VOLUME_CLAIMS))];
  };

  test(
    'goes through its whole life although each call fails the first time',
    async () => {
      const namespace = await fixture.newNamespace('sandbox-once');
      const oneOfFew = gate(AT_ONCE);
      const spoilt = new Set<string>();
      const patient = { tryTimeoutMs: 1_000, callTimeoutMs: 15_000, settleWithinMs: SETTLE_MS };
      const outcomes = await Promise.all(
        Object.entries(FAULTS).map(([title, fault]) =>
          oneOfFew(() =>
            withSandbox(namespace, patient, async ({ id, proxy, provider }) => {
              const states: string[] = [];
              for (const [step, does] of STEPS) {
                const seen = new Set<string>();
                proxy.fault = (call) => {
                  const isFirst = !seen.has(callOf(call));
                  seen.add(callOf(call));
                  if (isFirst) spoilt.add(callOf(call));
                  return isFirst ? fault : undefined;
                };
                await does(provider, id);
                proxy.fault = undefined;
                states.push(`${step}: ${(await provider.inspect(id)).state}`);
              }
              return { title, states, impatient: impatient(proxy.calls) };
            }),
          ),
        ),
      );
      expect(outcomes).toEqual(
        Object.keys(FAULTS).map((title) => ({
          title,
          states: STEPS.map(([step, , state]) => `${step}: ${state}`),
          impatient: [],
        })),
      );
      expect([...spoilt]).toEqual(expect.arrayContaining([...CALLS]));
      expect(await left(namespace)).toEqual([]);
    },
    3 * MINUTE,
  );

  test(
    'reports a call that always fails in time, and the same step completes later',
    async () => {
      const namespace = await fixture.newNamespace('sandbox-for-good');
      const oneOfFew = gate(AT_ONCE);
      const hasty = { tryTimeoutMs: 300, callTimeoutMs: 3_000, settleWithinMs: SETTLE_MS };
      const cells = FOR_GOOD.flatMap((title) => CALLS.map((call) => ({ title, call })));
      const outcomes = await Promise.all(
        cells.map(({ title, call }) =>
          oneOfFew(() =>
            withSandbox(namespace, hasty, async ({ id, proxy, provider }) => {
              const reported: string[] = [];
              for (const [step, does, state] of STEPS) {
                const before = proxy.calls.length;
                proxy.fault = spoil(call, FAULTS[title] as Fault, 1, Number.POSITIVE_INFINITY);
                const came = await does(provider, id).then(() => 'done', codeOf);
                proxy.fault = undefined;
                const calls = proxy.calls.slice(before);
                if (came !== 'done' && !MAY_BE_TOLD.has(came)) reported.push(`${step}: ${came}`);
                // A watch is resumed for as long as the sandbox may take.
                if (call !== 'watch pods' && mostTries(calls) > 5) reported.push(`${step}: too many tries`);
                reported.push(...impatient(calls));
                const then = await does(provider, id).then(() => 'done', codeOf);
                const now = await provider.inspect(id);
                if (then !== 'done' || now.state !== state)
                  reported.push(`${step}: then ${then}, ${now.state}`);
              }
              return { cell: `${call}: ${title}`, reported };
            }),
          ),
        ),
      );
      expect(outcomes.filter(({ reported }) => reported.length > 0)).toEqual([]);
      expect(await left(namespace)).toEqual([]);
    },
    3 * MINUTE,
  );
});
