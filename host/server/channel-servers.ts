import type { IncomingMessage, RequestListener, Server, ServerOptions, ServerResponse } from 'node:http';
import { createStrictServer, strictServerOptions } from '#proxy/front/strict-server.ts';
import { dropRest } from '#proxy/status-answer.ts';
import { PortholeError } from '#base/errors.ts';
import type { Authenticator } from '#core/auth/authenticator.ts';
import type { Services } from '#handlers/services.ts';
import { createFunctionHost, type FunctionHostOptions } from './function-host.ts';
import { refuse, refuseUpgrade } from './known-hosts.ts';

export interface ChannelServersOptions
  extends Pick<FunctionHostOptions, 'routes' | 'services' | 'metrics' | 'redact'> {
  /** Accepts only agents of runs. */
  readonly agents: Authenticator;
}

/**
 * Whether a connection with this peer address comes from the sandbox. Called after the token of one
 * of its agents was presented.
 */
export type IsFrom = (sandboxId: string, address: string) => boolean | Promise<boolean>;

/** The servers that processes in sandboxes reach. */
export interface ChannelServers {
  /** The server of a channel, of one sandbox or of several; not listening yet. */
  serverFor(isFrom: IsFrom): Server;
  /** Waits at most `drainMs` for running answers. The caller closes the servers it made listen. */
  close(drainMs: number): Promise<void>;
}

/**
 * Limits for hostile peers: a small head that arrives at once, a body soon after, and one request
 * per connection. The caller limits the number of connections.
 */
const TIGHT: ServerOptions = {
  ...strictServerOptions,
  maxHeaderSize: 8 * 1024,
  headersTimeout: 5_000,
  requestTimeout: 10_000,
};

const UNAUTHORIZED = 'Only the token of a running run of this very sandbox is accepted here.';
const NO_UPGRADE = 'There is no WebSocket here.';

/**
 * Serves the agent routes of runs, only to the runs' own agents from their own sandbox: API keys of
 * people are refused here.
 */
export function createChannelServers({
  routes,
  services,
  agents,
  ...host
}: ChannelServersOptions): ChannelServers {
  const { log } = services;
  const underWay = new Set<ServerResponse>();
  /** Created on the first agent request. */
  let functions: RequestListener | undefined;
  const open = () =>
    createFunctionHost({
      ...host,
      routes: routes.filter(({ channel }) => channel === true),
      // Hostile code may send invalid requests all day: no log line for each.
      services: { ...services, authenticator: agents, log: quiet(log) },
    });

  const admit = async (isFrom: IsFrom, req: IncomingMessage) => {
    const [, token] = /^bearer +(\S+)$/i.exec(req.headers.authorization ?? '') ?? [];
    const caller = token === undefined ? undefined : await agents.authenticate(token);
    const { remoteAddress = '' } = req.socket;
    if (caller?.kind !== 'agent' || !(await isFrom(caller.sandboxId, remoteAddress))) {
      throw new PortholeError('unauthorized', UNAUTHORIZED);
    }
    return (functions ??= open());
  };
  const serve = async (isFrom: IsFrom, req: IncomingMessage, res: ServerResponse) => {
    underWay.add(res);
    // Node refuses further requests on the connection, but would leave it open.
    res.setHeader('connection', 'close');
    res.once('close', () => underWay.delete(res));
    try {
      const listener = await admit(isFrom, req);
      listener(req, res);
    } catch (error) {
      dropRest(req);
      if (error instanceof PortholeError) return refuse(res, error.code, error.message);
      log.error({ err: error }, 'channel failed');
      refuse(res, 'internal_error', 'Something went wrong on our side.');
    }
  };

  return {
    serverFor(isFrom) {
      const server = createStrictServer(
        {
          request: (req, res, expectsContinue) => {
            if (expectsContinue) res.writeContinue();
            void serve(isFrom, req, res);
          },
          upgrade: (_req, socket) => refuseUpgrade(socket, 'not_found', NO_UPGRADE),
        },
        TIGHT,
      );
      server.maxRequestsPerSocket = 1;
      return server;
    },

    async close(drainMs) {
      const closed = [...underWay].map((res) => new Promise((resolve) => res.once('close', resolve)));
      const limit = setTimeout(() => underWay.forEach((res) => res.destroy()), drainMs);
      await Promise.all(closed);
      clearTimeout(limit);
    },
  };
}

function quiet(log: Services['log']): Services['log'] {
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => log.debug(fields, message),
    warn: (fields, message) => log.warn(fields, message),
    error: (fields, message) => log.error(fields, message),
  };
}
