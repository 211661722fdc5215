/** The preview gateway as the host runs it: the strict front, routing by Host, and the proxy. */
import { type AddressInfo, connect } from 'node:net';
import { once } from 'node:events';
import { createStrictServer } from '#adapters/gateway/front/strict-server.ts';
import { createPreviewProxy } from '#adapters/gateway/preview-proxy.ts';
import type { PreviewTarget } from '#adapters/gateway/preview-target.ts';
import { parsePreviewHost } from '#core/rules/preview-token.ts';

const [, , upstreamPort] = process.argv;
const targets = new Map<string, PreviewTarget>();
const nothing = (): void => undefined;

const proxy = createPreviewProxy({
  zone: 'localhost',
  scheme: 'http',
  lookup(token) {
    let target = targets.get(token);
    if (target === undefined) {
      target = { runId: 'run_bench', sandboxId: 'bench', targetPort: Number(upstreamPort), token };
      targets.set(token, target);
    }
    return { kind: 'live', target };
  },
  async dial(target) {
    const socket = connect({ port: target.targetPort, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return socket;
  },
  touched: nothing,
  siblingOf: () => false,
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
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
