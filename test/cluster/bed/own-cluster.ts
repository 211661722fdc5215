import { resolve } from 'node:path';
import type { Missing } from '#test/support/suite.ts';
import { sharedBed } from './bed-place.ts';
import type { Address, Cluster } from './cluster.ts';
import { command } from './command.ts';
import { adminKubeconfig } from './furnish-run-folder.ts';
import { ownKubectl } from './kubectl.ts';

/** What the environment must tell of a cluster of one's own beside `KUBECONFIG`. */
const VARIABLES = {
  PORTHOLE_GATEWAY_HTTP: 'host:port of the Gateway’s HTTP listener',
  PORTHOLE_GATEWAY_HTTPS: 'host:port of the Gateway’s HTTPS listener',
  PORTHOLE_GATEWAY_CA: 'file with the certificate authority of the Gateway',
  PORTHOLE_HOST_ADDRESS: 'address under which pods reach this machine',
  PORTHOLE_IMPORT_IMAGE: 'command that loads an image archive into the nodes; the file’s path is appended',
} as const;

/** `KUBECONFIG` when it is set, unless it names the bed that `npm run cluster:up` brings up. */
export function ownKubeconfig(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const own = env['KUBECONFIG'];
  return own && resolve(own) !== adminKubeconfig(sharedBed(env).runFolder) ? own : undefined;
}

export function ownClusterMissing(env: NodeJS.ProcessEnv = process.env): Missing {
  const unset = Object.entries(VARIABLES).filter(([name]) => !env[name]);
  if (unset.length === 0) return undefined;
  return `beside KUBECONFIG, set ${unset.map(([name, what]) => `${name} (${what})`).join(', ')}`;
}

export async function ownCluster(kubeconfig: string, env: NodeJS.ProcessEnv = process.env): Promise<Cluster> {
  const variable = (name: keyof typeof VARIABLES): string => env[name] ?? '';
  const kubectl = ownKubectl(kubeconfig);
  const server = ['config', 'view', '--minify', '--output=jsonpath={.clusters[0].cluster.server}'];
  return {
    kubeconfig,
    apiServer: await kubectl(server),
    gateway: {
      http: address(variable('PORTHOLE_GATEWAY_HTTP')),
      https: address(variable('PORTHOLE_GATEWAY_HTTPS')),
      caFile: variable('PORTHOLE_GATEWAY_CA'),
    },
    hostAddress: variable('PORTHOLE_HOST_ADDRESS'),
    kubectl,
    importImage: async (tarPath) => {
      await command([...variable('PORTHOLE_IMPORT_IMAGE').split(' '), tarPath]);
    },
    // Only its own tools could tell.
    hasImage: () => Promise.resolve(false),
  };
}

function address(text: string): Address {
  const { hostname, port } = new URL(`tcp://${text}`);
  return { host: hostname, port: Number(port) };
}
