import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import { type ExchangeAnswer, openExchanges } from '#adapters/kubernetes/client/exchange.ts';

/** A real API server, reached through a proxy that lets lists expire. */
export interface ForgetfulServer {
  readonly access: ClusterAccess;
  /** How many lists have expired: those with an offer to continue, and those without. */
  readonly expired: { offered: number; refused: number };
  close(): Promise<void>;
}

/**
 * The pages that are requested too late, not counting the first ones of lists: half of them can
 * still be continued.
 */
const LATE = [1, 3, 6, 8];
/** The first revision ever. */
const FORGOTTEN = 1;
/** Continues at the same key, at the current revision, as the server's offer does. */
const ANY = -1;

/** @param pageSize objects a page has at most, whatever the client asks for */
export async function startForgetfulServer(
  access: ClusterAccess,
  pageSize: number,
): Promise<ForgetfulServer> {
  const exchanges = openExchanges(access, 32);
  const expired = { offered: 0, refused: 0 };
  let pages = 0;

  const exchange = async (method: string, path: string, type?: string, accept?: string, body?: string) =>
    exchanges.exchange(
      {
        method,
        path,
        headers: {
          ...(type !== undefined && { 'content-type': type }),
          ...(accept !== undefined && { accept }),
          ...(access.token !== undefined && { authorization: `Bearer ${await access.token(false)}` }),
        },
        body,
      },
      AbortSignal.timeout(30_000),
    );

  /**
   * The server's answer for a page of an expired revision; simulated if the server is too young to
   * have compacted any.
   */
  const forgotten = async (path: string, accept: string | undefined) => {
    const url = new URL(path, 'http://api');
    const next = url.searchParams.get('continue') ?? '';
    url.searchParams.set('continue', at(next, FORGOTTEN));
    const real = await exchange('GET', url.pathname + url.search, undefined, accept);
    const status = real.status === 410 ? (JSON.parse(real.body) as object) : expiredStatus(next);
    const isOffered = (expired.offered + expired.refused) % 2 === 0;
    if (isOffered) expired.offered += 1;
    else expired.refused += 1;
    return { ...real, status: 410, body: JSON.stringify(isOffered ? status : { ...status, metadata: {} }) };
  };

  const server = createServer((incoming, response) => {
    const answer = async (): Promise<ExchangeAnswer> => {
      const { method = '' } = incoming;
      const url = (incoming.url ?? '').replace(/(?<=[?&]limit=)\d+/, `${pageSize}`);
      const { accept, 'content-type': type } = incoming.headers;
      const body = await text(incoming);
      const isNextPage = method === 'GET' && /[?&]continue=[^&]/.test(url);
      if (isNextPage) pages += 1;
      if (isNextPage && LATE.includes(pages)) return forgotten(url, accept);
      return exchange(method, url, type, accept, body === '' ? undefined : body);
    };
    const relay = async () => {
      const { status, headers, body } = await answer();
      response.writeHead(status, { 'content-type': 'application/json', date: headers.date });
      response.end(body);
    };
    relay().catch(() => incoming.socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    access: { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    expired,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
      exchanges.close();
    },
  };
}

/** The same key of a list, at another revision. */
function at(next: string, rv: number): string {
  const place = JSON.parse(Buffer.from(next, 'base64url').toString()) as object;
  return Buffer.from(JSON.stringify({ ...place, rv })).toString('base64url');
}

function expiredStatus(next: string): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: { continue: at(next, ANY) },
    status: 'Failure',
    message: 'The provided continue parameter is too old to display a consistent list result.',
    reason: 'Expired',
    code: 410,
  };
}
