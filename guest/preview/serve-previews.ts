import { once } from 'node:events';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { createStrictServer, strictServerOptions } from '../../proxy/front/strict-server.ts';
import { connectLoopback, readPort } from '../dial.ts';
import { openPreviewRequest } from '../../protocol/guest/previews-protocol.ts';
import { parse, readJson } from '../read-json.ts';
import { GuestError, type Handler, type Routes, sendJson } from '../router.ts';
import { OpenPreviews } from './open-previews.ts';
import { createPreviewListener } from './preview-listener.ts';

/**
 * Longer than gateways keep an idle connection (Envoy an hour, Traefik 90 s): the client side must
 * close first, or a request races with the close.
 */
const KEEP_ALIVE_MS = 3_900_000;

/** Below a minute, for which the kernel remembers a closed connection. */
const CONNECTIONS_EVERY_MS = 10_000;

export interface ServedPreviews {
  readonly routes: Routes<Handler>;
  /** Bytes of all previews since the start, in both directions. */
  readonly bytes: () => number;
}

const publicHost = z.string().check(z.minLength(1), z.maxLength(260));

/**
 * The guest as the upstream of previews: starts its listener. `PUT /v1/previews/{port}`, `DELETE
 * /v1/previews/{port}?host=`, `GET /v1/previews`: each answers the open previews.
 */
export async function servePreviews(
  { port: ownPort, host }: { readonly port: number; readonly host?: string | undefined },
  workspace: string,
): Promise<ServedPreviews> {
  const previews = new OpenPreviews(join(workspace, '.porthole', 'previews.json'));
  const listener = createPreviewListener(previews, connectLoopback);
  const server = createStrictServer(listener, { ...strictServerOptions, keepAliveTimeout: KEEP_ALIVE_MS });
  let watching: NodeJS.Timeout | undefined;
  const watchConnections = (): void => {
    if (previews.noteConnections()) {
      watching ??= setInterval(watchConnections, CONNECTIONS_EVERY_MS).unref();
      return;
    }
    clearInterval(watching);
    watching = undefined;
  };
  previews.load();
  watchConnections();
  server.listen(ownPort, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    // Commands and files must work without it.
    process.stderr.write(`Port ${ownPort} is taken, so no preview is served: ${String(error)}\n`);
  }
  const routes: Routes<Handler> = {
    'GET /v1/previews': (_request, response) => sendJson(response, 200, previews.answer()),

    async 'PUT /v1/previews/{port}'(request, response, { params }) {
      const port = readPort(params['port']);
      if (port === ownPort) {
        throw new GuestError('invalid_request', `Port ${port} is the guest's. Open the port of an app.`);
      }
      const opened = await readJson(request, openPreviewRequest);
      previews.open(port, opened);
      listener.limit(port, opened.host);
      watchConnections();
      sendJson(response, 200, previews.answer());
    },

    'DELETE /v1/previews/{port}'(_request, response, { params, url }) {
      const port = readPort(params['port']);
      const name = parse(url.searchParams.get('host'), publicHost);
      if (!previews.close(port, name)) {
        const open = previews.answer().previews.map((each) => each.port);
        throw new GuestError('not_found', `No preview of port ${port} is open for this host.`, { open });
      }
      listener.revoke(port, name);
      sendJson(response, 200, previews.answer());
    },
  };
  return { routes, bytes: () => previews.bytes };
}
