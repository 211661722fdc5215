import { readPort } from './dial.ts';
import { type OutputRing, streamOutput } from './output-ring.ts';
import { commandAtPort, type Ports } from './guest-ports.ts';
import { NETWORK } from './protocol/network.ts';
import { checkCursor, queryOf, within } from './guest-process-routes.ts';
import { portWaitRequest } from './protocol/ports-protocol.ts';
import type { StartedBy } from './protocol/processes-protocol.ts';
import { logsQuery, serverName, serverRequest } from './protocol/servers-protocol.ts';
import { parse, readJson } from './read-json.ts';
import { GuestError, type Handler, type Routes, sendJson } from './router.ts';
import type { Servers } from './guest-servers.ts';

/** `/v1/servers`. @param startedBy for all servers; without it the host sets it in each request */
export function serverRoutes(servers: Servers, startedBy?: StartedBy): Routes<Handler> {
  const by = startedBy && { started_by: startedBy };
  const find = (params: Readonly<Record<string, string>>) => servers.get(params['name'] ?? '');
  const act = (action: 'start' | 'stop' | 'restart'): Handler => {
    return async (_request, response, { params }) => {
      const server = find(params);
      await servers[action](server);
      sendJson(response, 200, server.info);
    };
  };
  return {
    'GET /v1/servers': (_request, response) =>
      sendJson(response, 200, { servers: servers.list().map(({ info }) => info) }),
    'GET /v1/servers/{name}': (_request, response, { params }) => sendJson(response, 200, find(params).info),
    'PUT /v1/servers/{name}': async (request, response, { params }) => {
      const name = parse(params['name'], serverName);
      const declaration = { ...(await readJson(request, serverRequest)), ...by };
      const { info, isNew } = await servers.declare(name, declaration);
      sendJson(response, isNew ? 201 : 200, info);
    },
    'DELETE /v1/servers/{name}': async (_request, response, { params }) => {
      await servers.remove(find(params));
      response.writeHead(204).end();
    },
    'POST /v1/servers/{name}/start': act('start'),
    'POST /v1/servers/{name}/stop': act('stop'),
    'POST /v1/servers/{name}/restart': act('restart'),
    'GET /v1/servers/{name}/logs': async ({ headers }, response, { params, url }) => {
      const { ring } = find(params);
      const last = headers['last-event-id'];
      const { since, follow, tail } = parse(
        { ...(last === undefined ? {} : { since: last }), ...queryOf(url) },
        logsQuery,
      );
      checkCursor(since ?? 0, ring.to);
      const begin = since ?? (tail === undefined ? ring.from : cursorOfTail(ring, tail));
      await streamOutput(ring, response, { since: begin, follow });
    },
  };
}

const NEWLINE = 10;

/** Cursor of the first of the last lines; an unfinished line counts. */
function cursorOfTail(ring: OutputRing, lines: number): number {
  const starts: number[] = [ring.from];
  let end = ring.from;
  for (let cursor = ring.from; cursor < ring.to; ) {
    const read = ring.read(cursor);
    for (const { kind, bytes, cursor: behind } of read.pieces) {
      if (kind === 'exit') continue;
      const begin = behind - bytes.length;
      for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) {
        starts.push(begin + at + 1);
      }
      end = behind;
      starts.splice(0, starts.length - lines - 2);
    }
    cursor = read.cursor;
  }
  // No line begins after a final newline.
  if (starts.at(-1) === end) starts.pop();
  return lines === 0 ? ring.to : (starts.at(-lines) ?? starts[0] ?? ring.from);
}

/** `/v1/ports` */
export function portRoutes(ports: Ports): Routes<Handler> {
  return {
    'GET /v1/ports': (_request, response) => sendJson(response, 200, { ports: ports.list() }),
    'POST /v1/ports/{port}/wait': async (request, response, { params, signal }) => {
      const port = readPort(params['port']);
      const { state, timeout_ms } = await readJson(request, portWaitRequest);
      const late = new AbortController();
      const either = AbortSignal.any([signal, late.signal]);
      const reached = await within(timeout_ms, ports.reach(port, state, either), signal);
      late.abort();
      if (!reached) {
        const existing = ports.list().map((one) => String(one.port));
        throw new GuestError('timed_out', `Port ${port} is not ${state} after ${timeout_ms} ms.`, {
          existing: existing.slice(0, 100),
        });
      }
      sendJson(response, 200, { port, state, listener: ports.find(port) ?? null });
    },
  };
}

/** `/v1/connections/{port}`: the command that has connected to the proxy from a port. */
export function connectionRoutes(): Routes<Handler> {
  return {
    'GET /v1/connections/{port}': (_request, response, { params }) => {
      const command = commandAtPort(readPort(params['port']), NETWORK.port);
      sendJson(response, 200, { command: command ?? null });
    },
  };
}
