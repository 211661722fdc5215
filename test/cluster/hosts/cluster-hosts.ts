import { randomBytes } from 'node:crypto';
import type { WakingClock } from '#base/clock-and-ids.ts';
import { importSandboxImage, SANDBOX_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { SIGNING_KEYS } from '#test/infra/support/stack-files.ts';
import { installDefinitions } from '../agent-sandbox-stand-in/definitions.ts';
import { startStandIn } from '../agent-sandbox-stand-in/stand-in.ts';
import { GATEWAY_ZONE } from '../fixture/fixture-plan.ts';
import { type Cluster, cluster } from '../fixture/cluster.ts';
import { FIXTURE_GATEWAY } from '../fixture/objects.ts';
import { openGuardedStack } from '../guards/guarded-stack.ts';

export interface ClusterHost {
  readonly porthole: TestHost;
  /** Further hosts with the same settings, which share a database. */
  readonly replicas: readonly TestHost[];
  /** The namespace of its sandboxes. */
  readonly namespace: string;
  kubectl(...args: readonly string[]): Promise<string>;
  /** Ends the host, its sandboxes and the objects created for it. */
  end(): Promise<void>;
}

export interface ClusterHostOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly clock?: WakingClock | undefined;
  /** Sandboxes that the pool of claims keeps ready. @default 0 */
  readonly ready?: number;
  /** How guests of the sandboxes are called. @default 'address' */
  readonly reach?: 'address' | 'forward';
  /** Number of hosts; more than one need a `DATABASE_URL`. @default 1 */
  readonly hosts?: number;
}

/**
 * A host in this process with pods of the real cluster as sandboxes, and routes of the cluster's
 * Gateway as previews.
 */
export async function openOnPods(options: ClusterHostOptions = {}): Promise<ClusterHost> {
  const fixture = await cluster();
  const namespace = `on-pods-${randomBytes(4).toString('hex')}`;
  await Promise.all([importSandboxImage(fixture), fixture.kubectl(['create', 'namespace', namespace])]);
  return open(fixture, namespace, options, {
    environment: {
      PORTHOLE_PROVIDER: 'kubernetes',
      PORTHOLE_SANDBOX_IMAGE: SANDBOX_IMAGE,
      Sandbox__Preview__GatewayName: FIXTURE_GATEWAY.name,
      Sandbox__Preview__GatewayNamespace: FIXTURE_GATEWAY.namespace,
      Sandbox__Preview__ZoneSuffix: GATEWAY_ZONE,
    },
    end: () => fixture.kubectl(['delete', 'namespace', namespace, '--wait=false']),
  });
}

/** Like `openOnPods`, with claims of agent-sandbox, bound by the stand-in for its controller. */
export async function openOnClaims(options: ClusterHostOptions = {}): Promise<ClusterHost> {
  const fixture = await cluster();
  await Promise.all([importSandboxImage(fixture), installDefinitions(fixture.kubectl)]);
  const stack = await openGuardedStack(fixture, {
    templates: { plain: { image: SANDBOX_IMAGE, memory: '512Mi' } },
    warmPools: { pool: { template: 'plain', replicas: options.ready ?? 0 } },
    warmPool: 'pool',
  });
  const { namespaces, zone, gateway } = stack.config;
  const standIn = startStandIn(stack.admin.access, namespaces.previews);
  return open(fixture, namespaces.previews, options, {
    environment: {
      PORTHOLE_PROVIDER: 'agent-sandbox',
      PORTHOLE_WARM_POOL: 'pool',
      Sandbox__Preview__GatewayName: gateway.name,
      Sandbox__Preview__GatewayNamespace: namespaces.gateway,
      Sandbox__Preview__ZoneSuffix: zone,
    },
    async end() {
      await standIn.stop();
      await stack.close();
    },
  });
}

/** With the rights of the cluster's administrator. */
async function open(
  fixture: Cluster,
  namespace: string,
  { environment, clock, reach = 'address', hosts = 1 }: ClusterHostOptions,
  own: { readonly environment: Readonly<Record<string, string>>; readonly end: () => Promise<unknown> },
): Promise<ClusterHost> {
  const { https, caFile } = fixture.gateway;
  const before = process.env['KUBECONFIG'];
  process.env['KUBECONFIG'] = fixture.kubeconfig;
  const settings = {
    PORTHOLE_GATEWAY_PROBE: `https://${https.host}:${https.port}`,
    PORTHOLE_GATEWAY_CA: caFile,
    PORTHOLE_GATEWAY_PORT: String(https.port),
    Sandbox__Preview__Namespace: namespace,
    PORTHOLE_SIGNING_KEYS: SIGNING_KEYS,
    PORTHOLE_GUEST_REACH: reach,
    ...own.environment,
    ...environment,
  };
  const start = () => startTestHost(settings, clock === undefined ? {} : { clock });
  const [porthole, ...replicas] = await startAll(start, hosts)
    .catch(async (error: unknown) => {
      await own.end();
      throw error;
    })
    .finally(() => {
      if (before === undefined) delete process.env['KUBECONFIG'];
      else process.env['KUBECONFIG'] = before;
    });
  if (porthole === undefined) throw new Error('no host was asked for');
  return {
    porthole,
    replicas,
    namespace,
    kubectl: (...args) => fixture.kubectl([...args, `--namespace=${namespace}`]),
    async end() {
      for (const replica of replicas) await replica.close();
      await porthole.end();
      await own.end();
    },
  };
}

/** One after the other: the first one prepares the database. */
async function startAll(start: () => Promise<TestHost>, count: number): Promise<TestHost[]> {
  const started: TestHost[] = [];
  for (let at = 0; at < count; at += 1) started.push(await start());
  return started;
}
