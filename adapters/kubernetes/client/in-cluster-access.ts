import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClusterAccess } from './cluster-access.ts';
import { fileToken } from './file-token.ts';

/** Where every pod that asks for it finds its service account's credentials. */
const FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Whether this process runs in a pod. */
export function isInCluster(env: NodeJS.ProcessEnv = process.env): boolean {
  return Boolean(env['KUBERNETES_SERVICE_HOST'] && env['KUBERNETES_SERVICE_PORT']);
}

/**
 * Access as the service account of the pod that this process runs in.
 * @throws Error outside a pod, or in one that does not mount its service account's token
 */
export async function inClusterAccess(
  env: NodeJS.ProcessEnv = process.env,
  folder = FOLDER,
): Promise<ClusterAccess> {
  const host = env['KUBERNETES_SERVICE_HOST'];
  const port = env['KUBERNETES_SERVICE_PORT'];
  if (!host || !port) {
    throw new Error(
      'There is no cluster around this process (KUBERNETES_SERVICE_HOST is not set): run it in a pod, or name a kubeconfig file.',
    );
  }
  const ca = await readFile(join(folder, 'ca.crt'), 'utf8').catch((cause: unknown) => {
    throw new Error(
      `This pod has no service account token in ${folder}: set automountServiceAccountToken on it.`,
      { cause },
    );
  });
  const address = host.includes(':') ? `[${host}]` : host;
  return { server: `https://${address}:${port}`, ca, token: fileToken(join(folder, 'token')) };
}
