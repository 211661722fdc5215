import { type StackFile, stackFile } from '../infra/support/stack-files.ts';
import type { Cluster } from './fixture/cluster.ts';
import { GATEWAY_CLASS } from './fixture/objects.ts';
import { SERVING_IMAGE } from './serving-image.ts';

export interface ServingStack {
  readonly zone: string;
  readonly apiHost: string;
  /** That of the gateway exists already, with the Secret `wildcard`. */
  readonly namespaces: {
    readonly previews: string;
    readonly gateway: string;
    readonly functions: string;
  };
}

/**
 * The stack file of an installation on the test cluster, with the serving image in place of the
 * functions: an update ends with ready pods and a programmed Gateway.
 */
export function servingStackFile(
  { gateway }: Pick<Cluster, 'gateway'>,
  { zone, apiHost, namespaces }: ServingStack,
  more: Readonly<Record<string, unknown>> = {},
): StackFile {
  return stackFile({
    'porthole:zone': zone,
    'porthole:apiHost': apiHost,
    'porthole:namespaces': { ...namespaces, existing: [namespaces.gateway] },
    'porthole:certificates': { previewSecret: 'wildcard', apiSecret: 'wildcard' },
    'porthole:gateway': {
      className: GATEWAY_CLASS,
      port: gateway.https.port,
      podNamespace: 'gateways',
      podLabels: { app: 'gateway' },
    },
    'porthole:functions': { image: SERVING_IMAGE, cpu: '10m' },
    'porthole:sandboxes': { image: 'porthole.test/sandbox:none' },
    ...more,
  });
}
