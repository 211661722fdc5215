/** The sandbox bridge on the sandboxes of a real cluster: functions on this machine, previews through its Gateway. */
import { randomBytes } from 'node:crypto';
import { importSandboxImage, SANDBOX_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { bridgeContract, type BridgeUnderTest } from '#test/contracts/bridge.contract.ts';
import { startTestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { definitionsMissing, installDefinitions } from './agent-sandbox-stand-in/definitions.ts';
import { startStandIn } from './agent-sandbox-stand-in/stand-in.ts';
import { type Cluster, cluster, missing } from './bed/cluster.ts';
import { GATEWAY_ZONE } from './bed/bed-plan.ts';
import { BED_GATEWAY } from './bed/objects.ts';
import { openGuardedStack } from './guards/guarded-stack.ts';

const KEY = 'the-key-of-the-bridge';

interface On {
  readonly bed: Cluster;
  readonly namespace: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly end: () => Promise<unknown>;
}

/** Functions in this process, by the rights of the bed's own administrator. */
async function open({ bed, namespace, environment, end }: On): Promise<BridgeUnderTest> {
  const { https, caFile } = bed.gateway;
  const before = process.env['KUBECONFIG'];
  process.env['KUBECONFIG'] = bed.kubeconfig;
  const host = await startTestHost({
    SANDBOX_API_KEY: KEY,
    PORTHOLE_GATEWAY_PROBE: `https://${https.host}:${https.port}`,
    PORTHOLE_GATEWAY_CA: caFile,
    PORTHOLE_GATEWAY_PORT: String(https.port),
    Sandbox__Preview__Namespace: namespace,
    ...environment,
  });
  if (before === undefined) delete process.env['KUBECONFIG'];
  else process.env['KUBECONFIG'] = before;
  return {
    port: host.host.port,
    key: KEY,
    async end() {
      await host.end();
      await end();
    },
  };
}

suite('on pods', missing(), () => {
  bridgeContract(async () => {
    const bed = await cluster();
    const namespace = `bridge-${randomBytes(4).toString('hex')}`;
    await Promise.all([importSandboxImage(bed), bed.kubectl(['create', 'namespace', namespace])]);
    return open({
      bed,
      namespace,
      environment: {
        PORTHOLE_PROVIDER: 'kubernetes',
        PORTHOLE_SANDBOX_IMAGE: SANDBOX_IMAGE,
        Sandbox__Preview__GatewayName: BED_GATEWAY.name,
        Sandbox__Preview__GatewayNamespace: BED_GATEWAY.namespace,
        Sandbox__Preview__ZoneSuffix: GATEWAY_ZONE,
      },
      end: () => bed.kubectl(['delete', 'namespace', namespace, '--wait=false']),
    });
  });
});

suite('on claims of agent-sandbox', missing() ?? definitionsMissing(), () => {
  bridgeContract(async () => {
    const bed = await cluster();
    await Promise.all([importSandboxImage(bed), installDefinitions(bed.kubectl)]);
    const stack = await openGuardedStack(bed, {
      templates: { plain: { image: SANDBOX_IMAGE, memory: '512Mi' } },
      warmPools: { cold: { template: 'plain', replicas: 0 } },
      warmPool: 'cold',
    });
    const { namespaces, zone, gateway } = stack.config;
    const standIn = startStandIn(stack.admin.access, namespaces.previews);
    return open({
      bed,
      namespace: namespaces.previews,
      environment: {
        PORTHOLE_PROVIDER: 'agent-sandbox',
        PORTHOLE_WARM_POOL: 'cold',
        Sandbox__Preview__GatewayName: gateway.name,
        Sandbox__Preview__GatewayNamespace: namespaces.gateway,
        Sandbox__Preview__ZoneSuffix: zone,
      },
      async end() {
        await standIn.stop();
        await stack.close();
      },
    });
  });
});
