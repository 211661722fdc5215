import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OpenPreviews } from '#guest/preview/open-previews.ts';
import { createPreviewListener } from '#guest/preview/preview-listener.ts';
import { PREVIEW_PORT_HEADER } from '#protocol/guest/previews-protocol.ts';
import { createStrictServer } from '#proxy/front/strict-server.ts';
import {
  CONSOLE_ORIGIN,
  dialLoopback,
  type GatewayFixture,
  listen,
  FOREIGN_PORT,
  FOREIGN_TOKEN,
  SIBLING_PORT,
  SIBLING_TOKEN,
  type StartGateway,
  TOKEN,
} from '#test/proxy/gateway-fixture.ts';

/**
 * The guest's listener behind a gateway: the route has set the app's port and the visitor's
 * address.
 */
export const startGuestGateway: StartGateway = async (
  upstreamPort,
  overrides = {},
): Promise<GatewayFixture> => {
  const folder = await mkdtemp(join(tmpdir(), 'guest-previews-'));
  const previews = new OpenPreviews(join(folder, 'previews.json'));
  let dials = 0;
  const listener = createPreviewListener(previews, (port) => {
    dials += 1;
    return (overrides.dial ?? dialLoopback)({ targetPort: port });
  });
  const server = createStrictServer({
    request: (req, res, expectsContinue) =>
      listener.request(asRouted(req, upstreamPort), res, expectsContinue),
    upgrade: (req, socket, head) => listener.upgrade(asRouted(req, upstreamPort), socket, head),
  });
  const listening = await listen(server);
  const hostOf = (token: string) => `${token}-preview.localhost:${listening.port}`;
  const open = (token: string, port: number, run: string) =>
    previews.open(port, {
      host: hostOf(token),
      run,
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      frame_ancestors: [CONSOLE_ORIGIN],
      report_contact: 'abuse@porthole.test',
    });
  open(TOKEN, upstreamPort, 'run_1');
  open(SIBLING_TOKEN, SIBLING_PORT, 'run_1');
  open(FOREIGN_TOKEN, FOREIGN_PORT, 'run_2');
  return {
    ...listening,
    scheme: 'https',
    previewHost: hostOf(TOKEN),
    apiHost: 'localhost',
    apiRequests: [],
    dials: () => dials,
    uses: () => (previews.find(hostOf(TOKEN))?.lastUsedAt === undefined ? 0 : 1),
    lastUse: () => previews.find(hostOf(TOKEN))?.lastUsedAt,
    revoke: () => listener.revoke(upstreamPort, hostOf(TOKEN)),
    drain: (drainMs) => listener.close(drainMs),
    async close() {
      await listener.close(0);
      await listening.close();
      await rm(folder, { recursive: true });
    },
  };
};

/** As a gateway sends it: the client's values of these two headers are dropped. */
function asRouted(req: IncomingMessage, port: number): IncomingMessage {
  req.headers[PREVIEW_PORT_HEADER.toLowerCase()] = String(port);
  req.headers['x-forwarded-for'] = '127.0.0.1';
  return req;
}
