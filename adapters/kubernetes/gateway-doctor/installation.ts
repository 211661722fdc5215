import type { KubernetesClient } from '../client/kubernetes-client.ts';
import { absent, isReason } from '../client/kubernetes-error.ts';
import { collection, type KubernetesObject } from '../client/kubernetes-object.ts';

/** Name of the ConfigMap and the Deployment of an installation. */
const NAME = 'porthole';

interface Deployment extends KubernetesObject {
  readonly spec: { readonly template: { readonly spec: PodSpec } };
}
interface PodSpec {
  readonly containers: readonly { readonly image: string }[];
  readonly imagePullSecrets?: unknown;
  readonly nodeSelector?: unknown;
  readonly tolerations?: unknown;
}

/** What the settings of an installation say; all undefined if the namespace has none. */
export interface Installation {
  readonly environment: Readonly<Record<string, string>>;
  readonly image?: string | undefined;
  /** Pull secrets and placement of its pods. */
  readonly podSpec: object;
}

/** The settings of the functions in that namespace, as far as they may be read. */
export async function readInstallation(
  client: KubernetesClient,
  namespace: string,
  signal: AbortSignal,
): Promise<Installation> {
  const read = <T extends KubernetesObject>(group: string | undefined, plural: string) =>
    client
      .get<T>(collection({ ...(group && { group }), version: 'v1', plural }, namespace), NAME, signal)
      .catch((error: unknown) => (isReason(error, 'Forbidden') ? undefined : absent(error)));
  const [config, deployment] = await Promise.all([
    read<KubernetesObject & { readonly data?: Record<string, string> }>(undefined, 'configmaps'),
    read<Deployment>('apps', 'deployments'),
  ]);
  const spec = deployment?.spec.template.spec;
  const { imagePullSecrets, nodeSelector, tolerations } = spec ?? {};
  return {
    environment: config?.data ?? {},
    image: spec?.containers[0]?.image,
    podSpec: { imagePullSecrets, nodeSelector, tolerations },
  };
}
