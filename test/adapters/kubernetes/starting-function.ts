/**
 * A function that only starts previews, several at once, until it is killed. Prints the token of
 * each preview that it has started.
 */
import { createHash } from 'node:crypto';
import { createKubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import { createKubernetesPlane } from '#adapters/kubernetes/previews/kubernetes-preview-plane.ts';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import type { PreviewOptions } from '#core/previews/preview-limits.ts';
import { formatPreviewToken } from '#core/previews/preview-token.ts';
import { STARTS_AT_ONCE } from './kill-while-starting.ts';

interface Orders {
  readonly access: Omit<ClusterAccess, 'token'> & { readonly token?: string };
  readonly previewSettings: PreviewOptions;
  /** Distinguishes the tokens of one function from those of the next. */
  readonly series: string;
}

process.once('message', (message) => {
  const { access, previewSettings, series } = message as Orders;
  const { token, ...rest } = access;
  const client = createKubernetesClient({
    access: { ...rest, ...(token !== undefined && { token: async () => token }) },
  });
  const plane = createKubernetesPlane({
    client,
    previewSettings,
    clock: systemClock,
    sandboxes: { dial: () => Promise.reject(new Error('not asked')) },
    probe: undefined,
  });
  const startForEver = async (loop: number): Promise<never> => {
    for (let number = 0; ; number += 1) {
      const startedAt = new Date();
      const token = tokenOf(`${series} ${loop} ${number}`);
      await plane.open({
        token,
        runId: 'run_killed',
        owner: 'alice',
        sandboxId: 'box',
        podName: 'box-pod',
        targetPort: 3000,
        startedAt,
        expiresAt: new Date(startedAt.getTime() + 1_800_000),
        maxUntil: new Date(startedAt.getTime() + 28_800_000),
      });
      process.send?.(token);
    }
  };
  for (let loop = 0; loop < STARTS_AT_ONCE; loop += 1) void startForEver(loop);
});

function tokenOf(seed: string): string {
  return formatPreviewToken(createHash('sha256').update(seed).digest());
}
