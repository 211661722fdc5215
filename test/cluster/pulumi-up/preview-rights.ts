import { describe, expect, test } from '@jest/globals';
import { collection, HTTP_ROUTES, SERVICES } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { readKubeconfig } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import { createKubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import { createKubernetesPlane } from '#adapters/kubernetes/previews/kubernetes-preview-plane.ts';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import { LABELS } from '#constructs/names.ts';
import { previewManifests } from '#constructs/preview-objects.ts';
import { previewHost, previewName } from '#core/previews/preview-token.ts';
import { previewOptions } from '#test/support/preview-options.ts';
import type { Cluster } from '../fixture/cluster.ts';

export const NAMESPACES = {
  previews: 'up-previews',
  gateway: 'up-gateway',
  functions: 'up-functions',
} as const;
export const ZONE = 'up.preview.test';
const FUNCTIONS = `system:serviceaccount:${NAMESPACES.functions}:porthole`;

const secondsFromNow = (seconds: number) => new Date(Date.now() + seconds * 1_000);

/** What the accounts of the stack may do with previews. `outcome` is the error of kubectl. */
export function previewRights(
  fixture: () => Cluster,
  outcome: (args: readonly string[], stdin?: string) => Promise<string | undefined>,
): void {
  describe('with the token of their account alone', () => {
    const token = (at: number) =>
      `swift-falcon-amber-${'abcdefghijklmnopqrstuvwxyz'.slice(at)}${'2'.repeat(at)}`;
    const spec = (at: number) => ({
      token: token(at),
      runId: 'run_1',
      owner: 'ann',
      sandboxId: 'abc',
      podName: 'sandbox-abc',
      targetPort: 3000 + at,
      startedAt: secondsFromNow(0),
      expiresAt: secondsFromNow(1_800),
      maxUntil: secondsFromNow(8 * 3_600),
    });

    /** The operations of a function, as this account. */
    async function as(account: string) {
      const secret = await fixture().kubectl([
        'create',
        'token',
        account,
        `--namespace=${NAMESPACES.functions}`,
      ]);
      const { server, ca } = await readKubeconfig(fixture().kubeconfig);
      const client = createKubernetesClient({ access: { server, ca, token: async () => secret.trim() } });
      const plane = createKubernetesPlane({
        client,
        previewSettings: previewOptions({
          zoneSuffix: ZONE,
          gatewayName: 'agentweaver-preview-gateway',
          gatewayNamespace: NAMESPACES.gateway,
          namespace: NAMESPACES.previews,
          maxTotal: 3,
        }),
        clock: systemClock,
        sandboxes: { dial: () => Promise.reject(new Error('nothing is dialled here')) },
        probe: undefined,
        listener: 'previews',
        publicPort: fixture().gateway.https.port,
      });
      return { client, plane };
    }

    test('lets functions take previews through their lives, within every bound, and lets the reaper end them', async () => {
      const functions = await as('porthole');
      const reaper = await as('porthole-reaper');
      try {
        const { plane } = functions;
        const opened = await plane.open(spec(0));
        expect(opened.created).toBe(true);
        expect((await plane.open(spec(0))).created).toBe(false);

        const kept = await plane.touch(token(0), 'run_1', secondsFromNow(3_600));
        expect(kept?.expiresAt?.getTime()).toBeGreaterThan(opened.preview.expiresAt?.getTime() ?? 0);
        // The admission policy refuses an expiry past the end; the preview gets that end instead.
        const last = await plane.touch(token(0), 'run_1', secondsFromNow(9 * 3_600));
        const end = opened.preview.maxUntil?.getTime() ?? 0;
        const granted = last?.expiresAt?.getTime() ?? 0;
        // Age counts from the creationTimestamp, which the API server sets in whole seconds.
        expect(granted).toBeGreaterThan(end - 1_000);
        expect(granted).toBeLessThanOrEqual(end);
        expect(await plane.touch(token(0), 'run_2', secondsFromNow(3_600))).toBeUndefined();

        await plane.open(spec(1));
        await plane.open(spec(2));
        await expect(plane.open(spec(3))).rejects.toMatchObject({ code: 'too_many_previews' });

        expect(await plane.close(opened.preview)).toBe(true);
        expect(await plane.find(token(0))).toBeUndefined();

        const left: string[] = [];
        for await (const each of reaper.plane.list()) {
          left.push(each.token);
          expect(await reaper.plane.close(each, { version: each.version })).toBe(true);
        }
        expect(left.toSorted()).toEqual([token(1), token(2)].toSorted());
        expect(await reaper.plane.sweep(new Date())).toBe(0);
        for (const kind of [HTTP_ROUTES, SERVICES]) {
          const found = functions.client.list(collection(kind, NAMESPACES.previews), {
            labelSelector: LABELS.run,
          });
          for await (const { metadata } of found) throw new Error(`${metadata.name} was left`);
        }
      } finally {
        functions.client.close();
        reaper.client.close();
      }
    });
  });

  test('refuses the route past the cap on all previews by the quota, with a 403', async () => {
    const made = async (at: number) => {
      const token = `calm-blue-otter-${'a'.repeat(25)}${'abcdef'[at]}`;
      const manifests = previewManifests({
        name: previewName(token),
        namespace: NAMESPACES.previews,
        gateway: { name: 'agentweaver-preview-gateway', namespace: NAMESPACES.gateway },
        hostname: previewHost(token, ZONE),
        targetPort: 3000,
        runId: `run_${at}`,
        owner: 'ann',
        sandboxId: 'abc',
        podName: 'sandbox-abc',
        startedAt: secondsFromNow(0),
        expiresAt: secondsFromNow(600),
        maxUntil: secondsFromNow(600),
        attempt: 'one',
      });
      const stored = await fixture().kubectl(
        ['create', `--as=${FUNCTIONS}`, '--filename=-', '--output=json'],
        JSON.stringify(manifests.service),
      );
      const { metadata } = JSON.parse(stored) as { metadata: { uid: string; resourceVersion: string } };
      return outcome(
        ['create', `--as=${FUNCTIONS}`, '--filename=-'],
        JSON.stringify(manifests.route(metadata)),
      );
    };
    // The quota controller sees the deletions of earlier suites slightly later.
    const used = String.raw`jsonpath={.status.used.count/httproutes\.gateway\.networking\.k8s\.io}=0`;
    await fixture().kubectl([
      'wait',
      `--for=${used}`,
      'quota/porthole-previews',
      `--namespace=${NAMESPACES.previews}`,
      '--timeout=60s',
    ]);
    expect([await made(1), await made(2), await made(3)]).toEqual([undefined, undefined, undefined]);
    const refused = await made(4);
    expect(refused).toContain('(Forbidden)');
    expect(refused).toContain('exceeded quota: porthole-previews');
  });
}
