import type { KubernetesObject } from '../client/kubernetes-object.ts';

/** What is read of a preview's Service. */
export interface StoredService extends KubernetesObject {
  readonly spec?: { readonly ports?: readonly { readonly targetPort?: number | string }[] };
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly observedGeneration?: number;
}

/** What is read of a preview's HTTPRoute. */
export interface StoredRoute extends KubernetesObject {
  readonly spec?: { readonly hostnames?: readonly string[] };
  readonly status?: {
    readonly parents?: readonly {
      readonly parentRef?: { readonly name?: string; readonly namespace?: string };
      readonly conditions?: readonly Condition[];
    }[];
  };
}
