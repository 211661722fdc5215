import type { KubernetesClient } from '../client/kubernetes-client.ts';
import { isReason } from '../client/kubernetes-error.ts';
import type { KubernetesObject } from '../client/kubernetes-object.ts';
import { CLAIMS_API, SANDBOX_CLAIMS } from './claim-state.ts';

interface ResourceList extends KubernetesObject {
  readonly resources?: readonly { readonly name: string }[];
}

/**
 * The default provider for a cluster: `agent-sandbox` where its CRDs are installed, else
 * `kubernetes`.
 */
export async function defaultProvider(
  client: KubernetesClient,
  signal?: AbortSignal,
): Promise<'agent-sandbox' | 'kubernetes'> {
  const { group, version } = CLAIMS_API;
  try {
    const api = await client.get<ResourceList>({ path: `/apis/${group}`, plural: group }, version, signal);
    const serves = api.resources?.some(({ name }) => name === SANDBOX_CLAIMS.plural) ?? false;
    return serves ? 'agent-sandbox' : 'kubernetes';
  } catch (error) {
    if (isReason(error, 'NotFound')) return 'kubernetes';
    throw error;
  }
}
