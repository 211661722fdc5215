import type { KubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import type { SandboxProvider } from '#core/ports/sandbox-provider.ts';
import type { WarmPoolConfig } from '#core/ports/warm-pool.ts';
import { noPool } from '#core/use-cases/warm-pool/no-pool.ts';
import type { Platform } from './platform.ts';

const NO_POOL =
  'WARM_POOL_TARGET has no effect: the provider kubernetes keeps no sandbox ready. Use agent-sandbox, or leave it out.';

/** The SandboxWarmPool of claims that ask for no image; pods have none. */
export async function openClusterPool(
  provider: SandboxProvider['name'],
  config: WarmPoolConfig,
  {
    warmPool,
    ...own
  }: {
    readonly client: KubernetesClient;
    readonly namespace: string;
    readonly warmPool: string | undefined;
  },
): Promise<Pick<Platform, 'pool' | 'warnings'>> {
  if (provider !== 'agent-sandbox' || warmPool === undefined) {
    const warnings = config.warmTarget > 0 ? [NO_POOL] : [];
    return { pool: noPool(config), warnings: () => warnings };
  }
  const { createAgentSandboxPool } = await import('#adapters/kubernetes/sandboxes/claims/warm-pool.ts');
  return { pool: createAgentSandboxPool({ ...own, warmPool, config }), warnings: () => [] };
}
