import type { KubernetesClient } from '../client/kubernetes-client.ts';
import { isReason } from '../client/kubernetes-error.ts';
import type { Kind, KubernetesObject } from '../client/kubernetes-object.ts';
import { type Condition, describeCondition } from './pod-state.ts';

export const CLAIMS_API = { group: 'extensions.agents.x-k8s.io', version: 'v1beta1' } as const;
export const SANDBOX_CLAIMS: Kind = { ...CLAIMS_API, plural: 'sandboxclaims' };
export const SANDBOXES: Kind = { group: 'agents.x-k8s.io', version: 'v1beta1', plural: 'sandboxes' };

export interface Claim extends KubernetesObject {
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly sandbox?: { readonly name?: string };
  };
}

export interface ClaimedSandbox extends KubernetesObject {
  readonly spec?: { readonly operatingMode?: string };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/**
 * Annotation of a Sandbox: the name of its pod, where it differs. Empty or absent while suspended.
 */
const POD_NAME = 'agents.x-k8s.io/pod-name';

export function podNameOf({ metadata }: ClaimedSandbox): string {
  return metadata.annotations?.[POD_NAME] || metadata.name;
}

export type ClaimState =
  | { readonly state: 'absent' }
  | { readonly state: 'ending'; readonly reason: string }
  /** Its Sandbox is ready. */
  | { readonly state: 'bound'; readonly sandbox: string; readonly reason: string }
  | { readonly state: 'suspended'; readonly sandbox: string; readonly reason: string }
  | { readonly state: 'creating'; readonly reason: string; readonly sandbox: string | undefined }
  /** Its Sandbox will never be ready. */
  | { readonly state: 'failed'; readonly reason: string; readonly sandbox: string | undefined };

/** Reasons that agent-sandbox's own client treats as final. */
const FINAL = new Set(
  `WarmPoolNotFound TemplateNotFound InvalidMetadata EnvVarsInjectionRejected VolumeClaimTemplatesError
  InvalidConfiguration ClaimExpired SandboxExpired PodFailed PodSucceeded`.split(/\s+/),
);

export function claimState(claim: Claim | undefined): ClaimState {
  if (claim === undefined) return { state: 'absent' };
  if (claim.metadata.deletionTimestamp !== undefined)
    return { state: 'ending', reason: 'its removal has begun' };
  const sandbox = claim.status?.sandbox?.name || undefined;
  const ready = presentCondition(claim, 'Ready');
  if (ready?.status === 'True' && sandbox !== undefined)
    return { state: 'bound', sandbox, reason: 'its claim is bound' };
  const reason =
    ready?.status === 'False'
      ? describeCondition(ready, 'its claim is not ready')
      : 'its claim is not bound yet';
  if (ready?.status === 'False' && FINAL.has(ready.reason ?? '')) return { state: 'failed', reason, sandbox };
  if (ready?.reason === 'SandboxSuspended' && sandbox !== undefined)
    return { state: 'suspended', sandbox, reason };
  return { state: 'creating', reason, sandbox };
}

/** A condition for the object's current generation. */
function presentCondition(
  object: KubernetesObject & { readonly status?: { readonly conditions?: readonly Condition[] } },
  type: string,
): Condition | undefined {
  const found = object.status?.conditions?.find((condition) => condition.type === type);
  const { generation = 0 } = object.metadata;
  return (found?.observedGeneration ?? generation) < generation ? undefined : found;
}

/** Whether a Sandbox is ready, as reported by its controller. */
export type SandboxReadiness =
  | { readonly state: 'ready'; readonly podName: string }
  | { readonly state: 'waiting'; readonly reason: string }
  | { readonly state: 'failed'; readonly reason: string };

export function sandboxReadiness(sandbox: ClaimedSandbox | undefined): SandboxReadiness {
  if (sandbox === undefined) return { state: 'failed', reason: 'its Sandbox has gone' };
  const ready = presentCondition(sandbox, 'Ready');
  if (ready?.status === 'True') return { state: 'ready', podName: podNameOf(sandbox) };
  if (ready === undefined) return { state: 'waiting', reason: 'its Sandbox is coming up' };
  const reason = describeCondition(ready, 'its Sandbox is not ready');
  return { state: FINAL.has(ready.reason ?? '') ? 'failed' : 'waiting', reason };
}

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
