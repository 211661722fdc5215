import { Agent, request } from 'node:https';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';

/** The API server as plain HTTP over persistent connections: the baseline. */
export interface BareApi {
  /**
   * One call; its response, read and not parsed.
   * @throws Error when the status is 300 or above
   */
  call(method: string, path: string, body?: string, type?: string): Promise<Buffer>;
  close(): void;
}

export function openBareApi(access: ClusterAccess, connections: number): BareApi {
  const { hostname, port } = new URL(access.server);
  const { ca, cert, key, token } = access;
  const agent = new Agent({
    keepAlive: true,
    maxSockets: connections,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  });
  return {
    async call(method, path, body, type = 'application/json') {
      const headers: Record<string, string | number> = { accept: 'application/json' };
      if (token !== undefined) headers['authorization'] = `Bearer ${await token(false)}`;
      if (body !== undefined) {
        headers['content-type'] = type;
        headers['content-length'] = Buffer.byteLength(body);
      }
      return new Promise((resolve, reject) => {
        const outgoing = request({ host: hostname, port, method, path, headers, agent }, (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.once('error', reject);
          incoming.once('end', () => {
            const answer = Buffer.concat(chunks);
            const { statusCode = 0 } = incoming;
            if (statusCode < 300) resolve(answer);
            else reject(new Error(`${method} ${path}: ${statusCode} ${answer.toString()}`));
          });
        });
        outgoing.once('error', reject);
        outgoing.end(body);
      });
    },
    close: () => agent.destroy(),
  };
}
