import type { Cluster } from '../fixture/cluster.ts';
import { relay } from '../end-to-end/relay.ts';
import type { ClusterHost } from './cluster-hosts.ts';

/**
 * The wildcard route of a stack, which leads to a host in this process: every host of the zone
 * without a route.
 */
export async function openWildcardFallback(
  { hostAddress, kubectl }: Cluster,
  { porthole: { host }, namespace }: ClusterHost,
): Promise<{ close(): Promise<void> }> {
  const toHost = await relay(hostAddress, { host: '127.0.0.1', port: host.port });
  const { gatewayName, gatewayNamespace, zoneSuffix } = host.services.previewSettings;
  const metadata = { name: 'fallback', namespace };
  const items = [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { clusterIP: 'None', ports: [{ name: 'http', port: 80 }] },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': metadata.name } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [hostAddress], conditions: { ready: true } }],
      ports: [{ name: 'http', port: toHost.port }],
    },
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata,
      spec: {
        parentRefs: [{ name: gatewayName, namespace: gatewayNamespace }],
        hostnames: [`*.${zoneSuffix}`],
        rules: [{ backendRefs: [{ name: metadata.name, port: 80 }] }],
      },
    },
  ];
  await kubectl(['apply', '--filename=-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  return {
    async close() {
      await kubectl(['delete', 'httproute', metadata.name, `--namespace=${namespace}`]);
      await toHost.close();
    },
  };
}
