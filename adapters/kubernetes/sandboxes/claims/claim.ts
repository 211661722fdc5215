import type { Kind } from '../../client/collection.ts';
import type { KubernetesObject } from '../../client/kubernetes-object.ts';
import type { Condition } from '../pods/pod.ts';

export const CLAIMS_API = { group: 'extensions.agents.x-k8s.io', version: 'v1beta1' } as const;
export const SANDBOX_CLAIMS: Kind = { ...CLAIMS_API, plural: 'sandboxclaims' };
export const SANDBOXES: Kind = { group: 'agents.x-k8s.io', version: 'v1beta1', plural: 'sandboxes' };

/** What is read of a SandboxClaim. */
export interface Claim extends KubernetesObject {
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly sandbox?: { readonly name?: string };
  };
}

/** What is read of a Sandbox. */
export interface ClaimedSandbox extends KubernetesObject {
  readonly spec?: { readonly operatingMode?: string };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** On a Sandbox: its pod, where that is not named like it. Empty or absent while it is suspended. */
const POD_NAME = 'agents.x-k8s.io/pod-name';

export function podNameOf({ metadata }: ClaimedSandbox): string {
  return metadata.annotations?.[POD_NAME] || metadata.name;
}
