import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Address and credentials of an API server. Read once, except the token, which rotates. */
export interface ClusterAccess {
  /** `https://host:port`, without a path. */
  readonly server: string;
  /**
   * PEM of the certificate authorities trusted for the server. Without it, the system's are used.
   */
  readonly ca?: string | undefined;
  /**
   * The name that the server's certificate must have, where it differs from the server's host name.
   */
  readonly serverName?: string | undefined;
  /** PEM of a client certificate and its key. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** The current bearer token. Set `refresh` after the last one was rejected. */
  readonly token?: ((refresh: boolean) => Promise<string>) | undefined;
}

/**
 * Token cache time, in milliseconds, as in Kubernetes' own clients. The kubelet replaces a token
 * long before it expires.
 */
const KEPT_MS = 60_000;

/** A bearer token from a file that another process refreshes. */
export function fileToken(file: string): (refresh: boolean) => Promise<string> {
  let kept: { token: Promise<string>; until: number } | undefined;
  return (refresh) => {
    const now = performance.now();
    if (kept === undefined || refresh || now >= kept.until) {
      const token = readFile(file, 'utf8').then((text) => text.trim());
      kept = { token, until: now + KEPT_MS };
      // Do not cache a failed read.
      token.catch(() => (kept = undefined));
    }
    return kept.token;
  };
}

/** Mount path of the service account's credentials in a pod. */
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
