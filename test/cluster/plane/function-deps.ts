import type { KubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import { createKubernetesPlane } from '#adapters/kubernetes/previews/kubernetes-preview-plane.ts';
import { NO_QUOTAS } from '#core/sandboxes/sandbox-quotas.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import type { PreviewPlane } from '#core/previews/preview-plane.ts';
import type { PreviewOptions } from '#core/previews/preview-limits.ts';
import type { ReapPreviewsDeps } from '#core/previews/reap-previews.ts';
import type { StartPreviewDeps } from '#core/previews/start-preview.ts';
import { plainTokens } from '#test/doubles/plain-tokens.ts';

/** The dependencies of a function or a reaper. */
export type FunctionDeps = StartPreviewDeps & ReapPreviewsDeps;

/**
 * The dependencies of a function without its records: every sandbox runs, and every stored route
 * serves.
 */
export function functionDeps(
  client: KubernetesClient,
  previewSettings: PreviewOptions,
  clock: Clock,
): Omit<FunctionDeps, 'records'> {
  const plane: PreviewPlane = {
    ...createKubernetesPlane({
      client,
      previewSettings,
      clock,
      sandboxes: { dial: () => Promise.reject(new Error('not used here')) },
      probe: undefined,
    }),
    awaitReady: async () => ({ ready: true }),
  };
  return {
    plane,
    clock,
    previewSettings,
    quotas: NO_QUOTAS,
    tokens: plainTokens(),
    sandboxes: { inspect: async (id) => ({ state: 'running', podName: `${id}-pod` }) },
  };
}
