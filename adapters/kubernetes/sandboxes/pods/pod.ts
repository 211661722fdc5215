import type { KubernetesObject } from '../../client/kubernetes-object.ts';

/** What is read of a pod. */
export interface Pod extends KubernetesObject {
  readonly spec?: {
    readonly containers?: readonly { readonly name: string; readonly command?: readonly string[] }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly podIPs?: readonly { readonly ip: string }[];
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly observedGeneration?: number;
}

interface ContainerState {
  readonly reason?: string;
  readonly message?: string;
}

export interface ContainerStatus {
  readonly name: string;
  readonly state?: {
    readonly running?: object;
    readonly waiting?: ContainerState;
    readonly terminated?: ContainerState;
  };
}
