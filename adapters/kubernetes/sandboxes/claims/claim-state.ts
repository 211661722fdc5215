import type { KubernetesObject } from '../../client/kubernetes-object.ts';
import type { Condition } from '../pods/pod.ts';
import { describeCondition } from '../pods/pod-state.ts';
import { type Claim, type ClaimedSandbox, podNameOf } from './claim.ts';

/** What a claim is to its sandbox. */
export type ClaimState =
  | { readonly state: 'absent' }
  | { readonly state: 'ending'; readonly reason: string }
  /** It has a Sandbox that is ready. */
  | { readonly state: 'bound'; readonly sandbox: string; readonly reason: string }
  | { readonly state: 'suspended'; readonly sandbox: string; readonly reason: string }
  | { readonly state: 'creating'; readonly reason: string; readonly sandbox: string | undefined }
  /** It will never have a Sandbox that is ready. */
  | { readonly state: 'failed'; readonly reason: string; readonly sandbox: string | undefined };

/** The reasons that agent-sandbox's own client gives up at. */
const FINAL = new Set([
  'WarmPoolNotFound',
  'TemplateNotFound',
  'InvalidMetadata',
  'EnvVarsInjectionRejected',
  'VolumeClaimTemplatesError',
  'InvalidConfiguration',
  'ClaimExpired',
  'SandboxExpired',
  'PodFailed',
  'PodSucceeded',
]);

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

/** A condition that was judged on the object as it is now. */
export function presentCondition(
  object: KubernetesObject & { readonly status?: { readonly conditions?: readonly Condition[] } },
  type: string,
): Condition | undefined {
  const found = object.status?.conditions?.find((condition) => condition.type === type);
  const { generation = 0 } = object.metadata;
  return (found?.observedGeneration ?? generation) < generation ? undefined : found;
}

/** Whether a Sandbox is ready, as its controller sees it. */
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
