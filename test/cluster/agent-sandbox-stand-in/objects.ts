import { createHash } from 'node:crypto';
import {
  collection,
  type Collection,
  type Kind,
  PODS,
  VOLUME_CLAIMS,
  type KubernetesObject,
} from '#adapters/kubernetes/client/kubernetes-object.ts';
import type { Pod } from '#adapters/kubernetes/sandboxes/pod-state.ts';

/**
 * The fields of agent-sandbox's objects that the stand-in reads, as its reference describes them.
 */
export interface Blueprint {
  readonly podTemplate: {
    readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
    readonly spec: {
      readonly containers: readonly object[];
      readonly volumes?: readonly object[];
    };
  };
  readonly volumeClaimTemplates?: readonly {
    readonly metadata: { readonly name: string };
    readonly spec: object;
  }[];
}

export interface Template extends KubernetesObject {
  readonly spec: Blueprint;
}

export interface Pool extends KubernetesObject {
  readonly spec: { readonly replicas?: number; readonly sandboxTemplateRef: { readonly name: string } };
  readonly status?: { readonly replicas?: number; readonly readyReplicas?: number };
}

export interface Sandbox extends KubernetesObject {
  readonly spec: Blueprint & { readonly operatingMode?: string };
  readonly status?: { readonly conditions?: readonly Condition[]; readonly podIPs?: readonly string[] };
}

export interface Claim extends KubernetesObject {
  readonly spec: {
    readonly warmPoolRef: { readonly name: string };
    readonly env?: readonly object[];
    readonly additionalPodMetadata?: { readonly labels?: Readonly<Record<string, string>> };
  };
  readonly status?: object;
}

export interface SandboxPod extends Pod {
  readonly status?: Pod['status'] & { readonly podIP?: string };
}

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

export const CORE = 'agents.x-k8s.io';
export const EXTENSIONS = 'extensions.agents.x-k8s.io';

const kinds = {
  claims: { group: EXTENSIONS, version: 'v1beta1', plural: 'sandboxclaims' },
  pools: { group: EXTENSIONS, version: 'v1beta1', plural: 'sandboxwarmpools' },
  templates: { group: EXTENSIONS, version: 'v1beta1', plural: 'sandboxtemplates' },
  sandboxes: { group: CORE, version: 'v1beta1', plural: 'sandboxes' },
  pods: PODS,
  volumes: VOLUME_CLAIMS,
} satisfies Record<string, Kind>;

export type Collections = Readonly<Record<keyof typeof kinds, Collection>>;

export function collections(namespace: string): Collections {
  return Object.fromEntries(
    Object.entries(kinds).map(([name, kind]) => [name, collection(kind, namespace)]),
  ) as unknown as Collections;
}

/** The pool in which it waits. */
export const POOL_LABEL = `${CORE}/warm-pool-sandbox`;
export const POD_NAME = `${CORE}/pod-name`;
/**
 * On a claim: the Sandbox that it takes. Written before the Sandbox changes owner, so that work
 * continues after a crash in between.
 */
export const TAKEN = `${CORE}/sandbox-name`;

export function poolHash(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 8);
}

export function owner(apiVersion: string, kind: string, { metadata }: KubernetesObject): object {
  const { name, uid } = metadata;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}
