import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect, type PortholeApi } from '../../../examples/demo/porthole-api.ts';
import { startPostgres } from '../../support/postgres.ts';
import { MAIN, stackFile } from '../../infra/support/stack-files.ts';
import { PulumiStack } from '../../pulumi/pulumi-stack.ts';
import type { Cluster } from '../fixture/cluster.ts';
import { API_SERVER_PORT } from '../fixture/fixture-plan.ts';
import { GATEWAY_CLASS } from '../fixture/objects.ts';
import { createGatewayCertificate } from '../gateway-certificate.ts';
import { gatewayClient, type GatewayClient } from './gateway-client.ts';
import { relay } from './relay.ts';

export interface DeployOptions {
  /** Prefix of its namespaces and of its zone. */
  readonly name: string;
  readonly functionHostImage: string;
  readonly sandboxImage: string;
  readonly preview?: Readonly<Record<string, unknown>>;
}

/**
 * Porthole as `pulumi up` deploys it on the test cluster: functions in pods, PostgreSQL beside the
 * cluster, all traffic through the Gateway.
 */
export interface Deployed {
  readonly zone: string;
  readonly namespaces: { readonly previews: string; readonly gateway: string; readonly functions: string };
  readonly client: GatewayClient;
  /** The API with the service's key. */
  readonly api: PortholeApi;
  /** The logs of a component's pods. */
  logs(component: 'functions' | 'reaper'): Promise<string>;
  destroy(): Promise<void>;
}

const SERVICE_KEY = 'service-key-of-the-end-to-end-tests';
const READY_SECONDS = 120;

export async function deploy(
  fixture: Cluster,
  { name, functionHostImage, sandboxImage, preview = {} }: DeployOptions,
): Promise<Deployed> {
  const undo = new AsyncDisposableStack();
  try {
    const namespaces = {
      previews: `${name}-previews`,
      gateway: `${name}-gateway`,
      functions: `${name}-functions`,
    };
    const zone = `${name}.preview.test`;
    const apiHost = `${name}.porthole.test`;
    const folder = mkdtempSync(join(tmpdir(), 'porthole-deployed-'));
    undo.defer(() => rmSync(folder, { recursive: true }));
    const postgres = await startPostgres();
    undo.defer(() => postgres.stop());
    const url = new URL(postgres.url);
    const database = await relay(fixture.hostAddress, { host: url.hostname, port: Number(url.port) });
    undo.defer(() => database.close());
    url.hostname = fixture.hostAddress;
    url.port = String(database.port);

    undo.defer(async () => {
      await fixture.kubectl(['delete', 'namespace', ...Object.values(namespaces), '--ignore-not-found']);
    });
    const dnsNames = [`*.${zone}`, apiHost] as const;
    await createGatewayCertificate(fixture.kubectl, { folder, namespace: namespaces.gateway, dnsNames });
    const authority = join(folder, 'ca.crt');

    const { kubeconfig } = fixture;
    const stack = new PulumiStack({ project: 'porthole', stack: name, main: MAIN, kubeconfig });
    undo.defer(() => stack.close());
    const { host, port } = fixture.gateway.https;
    const { config, secrets } = stackFile({
      'porthole:zone': zone,
      'porthole:apiHost': apiHost,
      'porthole:namespaces': { ...namespaces, existing: [namespaces.gateway] },
      'porthole:certificates': { previewSecret: 'wildcard', apiSecret: 'wildcard' },
      'porthole:gateway': {
        className: GATEWAY_CLASS,
        port,
        podNamespace: 'gateways',
        podLabels: { app: 'gateway' },
        probe: { url: `https://${host}:${port}`, ca: readFileSync(authority, 'utf8') },
      },
      'porthole:functions': {
        image: functionHostImage,
        cpu: '50m',
        logLevel: 'debug',
        egressPorts: [port, API_SERVER_PORT, database.port],
      },
      'porthole:sandboxes': { image: sandboxImage },
      'porthole:preview': preview,
    });
    const file = {
      config,
      secrets: { ...secrets, 'porthole:databaseUrl': url.href, 'porthole:serviceKey': SERVICE_KEY },
    };
    undo.defer(async () => {
      const { succeeded, output } = await stack.destroy();
      if (!succeeded) throw new Error(`the stack was not destroyed: ${output}`);
    });
    const { succeeded, output } = await stack.up(file);
    if (!succeeded) throw new Error(`the stack did not come up: ${output}`);
    const logs = (component: 'functions' | 'reaper') =>
      fixture.kubectl([
        'logs',
        `--namespace=${namespaces.functions}`,
        `--selector=app.kubernetes.io/component=${component}`,
        '--tail=200',
        '--prefix',
        // A reaper that still runs has its last lines ahead.
        `--follow=${component === 'reaper'}`,
      ]);
    await fixture
      .kubectl([
        'rollout',
        'status',
        'deployment/porthole',
        `--namespace=${namespaces.functions}`,
        `--timeout=${READY_SECONDS}s`,
      ])
      .catch(async (error: Error) => {
        throw new Error(`${error.message}\n${await logs('functions').catch(String)}`);
      });

    const client = gatewayClient(host, authority);
    undo.defer(() => client.close());
    const origin = `https://${apiHost}${port === 443 ? '' : `:${port}`}`;
    await untilServed(client, `${origin}/health`);
    const done = undo.move();
    return {
      zone,
      namespaces,
      client,
      api: connect(origin, SERVICE_KEY, undefined, client.fetch),
      logs,
      destroy: () => done.disposeAsync(),
    };
  } catch (error) {
    await undo.disposeAsync();
    throw error;
  }
}

/** The gateway learns of the pods a moment after the cluster, without an event. */
async function untilServed(client: GatewayClient, url: string): Promise<void> {
  for (const deadline = Date.now() + READY_SECONDS * 1_000; ; await pause(100)) {
    const { status } = await client.fetch(url, { signal: AbortSignal.timeout(5_000) });
    if (status === 200) return;
    if (Date.now() > deadline) throw new Error(`${url} still answers ${status}`);
  }
}
