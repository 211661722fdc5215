import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { createStrictServer } from '#proxy/front/strict-server.ts';
import { NO_SIBLINGS } from '#proxy/siblings.ts';
import { createPreviewProxy } from '#proxy/preview-proxy.ts';
import { clientAddress, NO_PROXIES } from '#proxy/client-address.ts';
import type { PreviewTarget } from '#proxy/preview-target.ts';
import { parsePreviewHost } from '#core/previews/preview-token.ts';

const nothing = (): void => undefined;

/**
 * The preview gateway like the host's: the strict front, routing by Host, and the proxy. Sends its
 * port to the parent.
 */
export async function serveGateway(targetPort: number, dial: () => Promise<Duplex>): Promise<Server> {
  const targets = new Map<string, PreviewTarget>();
  const proxy = createPreviewProxy({
    lookup(token) {
      let target = targets.get(token);
      if (target === undefined) {
        target = { runId: 'run_bench', sandboxId: 'bench', targetPort, token };
        targets.set(token, target);
      }
      return { kind: 'live', target };
    },
    dial,
    dialFailure: () => 'unreachable',
    clientAddress: (req) => clientAddress(req, NO_PROXIES),
    visitor(req) {
      const { host = '' } = req.headers;
      return { scheme: 'http', host, audience: host };
    },
    reportContact: () => 'abuse@porthole.test',
    fingerprint: () => 'bench',
    touched: nothing,
    siblings: () => NO_SIBLINGS,
    frameAncestors: () => [],
    log: { debug: nothing, warn: nothing },
    metrics: { answered: nothing, bytes: nothing, upgrades: nothing },
  });
  const server = createStrictServer({
    request(req, res, expectsContinue) {
      const host = parsePreviewHost(req.headers.host ?? '', 'localhost');
      if (host.kind === 'token') proxy.handleRequest(req, res, host.token, expectsContinue);
      else res.writeHead(404).end();
    },
    upgrade(req, socket, head) {
      const host = parsePreviewHost(req.headers.host ?? '', 'localhost');
      if (host.kind === 'token') proxy.handleUpgrade(req, socket, head, host.token);
      else socket.destroy();
    },
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.send?.((server.address() as AddressInfo).port);
  return server;
}
