import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { type ClusterAccess, fileToken } from './cluster-access.ts';

const text = z.string().optional();
const Cluster = z.object({
  server: z.url({ protocol: /^https?$/ }),
  'certificate-authority': text,
  'certificate-authority-data': text,
  'tls-server-name': text,
  'insecure-skip-tls-verify': z.boolean().optional(),
});
const User = z.object({
  token: text,
  tokenFile: text,
  'client-certificate': text,
  'client-certificate-data': text,
  'client-key': text,
  'client-key-data': text,
  exec: z.unknown().optional(),
  'auth-provider': z.unknown().optional(),
});
const Context = z.object({ cluster: z.string(), user: z.string(), namespace: text });
const Kubeconfig = z.object({
  'current-context': text,
  clusters: z.array(z.object({ name: z.string(), cluster: Cluster })).default([]),
  users: z.array(z.object({ name: z.string(), user: User })).default([]),
  contexts: z.array(z.object({ name: z.string(), context: Context })).default([]),
});

export interface KubeconfigAccess extends ClusterAccess {
  /** The namespace of the context; `default` where it has none. */
  readonly namespace: string;
}

/**
 * Access from the current context of a kubeconfig file: `KUBECONFIG`, else `~/.kube/config`. For
 * programs outside a cluster; not used inside one.
 * @throws Error that names the file and what in it cannot be used; never a credential
 */
export async function kubeconfigAccess(
  env: NodeJS.ProcessEnv = process.env,
  context?: string,
): Promise<KubeconfigAccess> {
  const file = (env['KUBECONFIG'] ?? '').split(delimiter).find((path) => path !== '');
  return readKubeconfig(file ?? join(homedir(), '.kube', 'config'), context);
}

/** @throws Error like `kubeconfigAccess` */
export async function readKubeconfig(path: string, context?: string): Promise<KubeconfigAccess> {
  const file = resolve(path);
  const read = Kubeconfig.safeParse(await parsed(await readFile(file, 'utf8')));
  if (!read.success) {
    throw new Error(`${file} is no kubeconfig file: ${z.prettifyError(read.error)}`);
  }
  const config = read.data;
  const pick = <T extends { readonly name: string }>(kind: string, list: readonly T[], name?: string): T => {
    const found = list.find((each) => each.name === name);
    if (found !== undefined) return found;
    const known = list.map((each) => each.name).join(', ') || 'none';
    throw new Error(`${file} has no ${kind} "${name ?? ''}"; it knows ${known}.`);
  };
  const chosen = pick('context', config.contexts, context ?? config['current-context']).context;
  const { cluster } = pick('cluster', config.clusters, chosen.cluster);
  const { user } = pick('user', config.users, chosen.user);
  if (cluster['insecure-skip-tls-verify']) {
    throw new Error(
      `${file} skips the check of the API server's certificate: name its authority as certificate-authority instead.`,
    );
  }
  if (user['auth-provider'] !== undefined) {
    throw new Error(
      `User "${chosen.user}" of ${file} signs in through an auth-provider, which Kubernetes 1.26 removed: use an exec plugin, a token (kubectl create token) or a client certificate.`,
    );
  }
  const folder = dirname(file);
  const pem = async (data: string | undefined, from: string | undefined) => {
    if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
    return from === undefined ? undefined : readFile(resolve(folder, from), 'utf8');
  };
  const [ca, cert, key] = await Promise.all([
    pem(cluster['certificate-authority-data'], cluster['certificate-authority']),
    pem(user['client-certificate-data'], user['client-certificate']),
    pem(user['client-key-data'], user['client-key']),
  ]);
  const { token, tokenFile, exec } = user;
  return {
    server: new URL(cluster.server).origin,
    ca,
    serverName: cluster['tls-server-name'],
    cert,
    key,
    namespace: chosen.namespace ?? 'default',
    ...(token !== undefined && { token: async () => token }),
    ...(token === undefined && tokenFile !== undefined && { token: fileToken(resolve(folder, tokenFile)) }),
    ...(exec !== undefined && (await byPlugin({ name: chosen.user, exec }, folder))),
  };
}

/** Loaded on demand: the package is optional, and only plugins need it. */
async function byPlugin(
  user: { readonly name: string; readonly exec: unknown },
  folder: string,
): Promise<Pick<ClusterAccess, 'cert' | 'key' | 'token'>> {
  const { execCredentials } = await import('./exec-credentials.ts').catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new Error(
      `User "${user.name}" signs in through a plugin, which needs the package @kubernetes/client-node: run npm install --no-save --include=dev, or use a token (kubectl create token).`,
      { cause },
    );
  });
  return execCredentials(user, folder);
}

/** JSON is YAML. Functions get JSON: loading the YAML parser takes as long as starting Node. */
async function parsed(text: string): Promise<unknown> {
  if (text.startsWith('{')) return JSON.parse(text);
  const { parse } = await import('yaml');
  return parse(text);
}
