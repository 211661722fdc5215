import { rmSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { unlessAborted } from '../base/concurrency.ts';
import { readPort } from './dial.ts';
import { commandAtPort, type Ports } from './guest-ports.ts';
import type { Processes } from './guest-processes.ts';
import type { Servers } from './guest-servers.ts';
import { type OutputRing, streamOutput } from './output-ring.ts';
import { replacePlain } from './plain-file.ts';
import { RUNS_FOLDER } from './prepare-workspace.ts';
import { terminalSize } from '../protocol/guest/exec-protocol.ts';
import { NETWORK } from '../protocol/guest/network.ts';
import { portWaitRequest } from '../protocol/guest/ports-protocol.ts';
import {
  outputQuery,
  processRequest,
  signalRequest,
  type StartedBy,
  waitRequest,
} from '../protocol/guest/processes-protocol.ts';
import { runsRequest } from '../protocol/guest/runs-protocol.ts';
import { traceEnvironment } from '../protocol/guest/trace-context.ts';
import { logsQuery, serverName, serverRequest } from '../protocol/guest/servers-protocol.ts';
import { parse, readJson } from './read-json.ts';
import { GuestError, type Handler, type Routes, sendJson } from './router.ts';

function queryOf(url: URL): Record<string, string> {
  return Object.fromEntries(url.searchParams);
}

const inputQuery = z.object({ eof: z._default(z.stringbool(), false) });

/**
 * `/v1/processes`. @param startedBy for all processes; without it the host sets it in each request
 */
export function processRoutes(processes: Processes, startedBy?: StartedBy): Routes<Handler> {
  const by = startedBy && { started_by: startedBy };
  const find = (params: Readonly<Record<string, string>>) => processes.get(params['id'] ?? '');
  return {
    'POST /v1/processes': async (request, response) => {
      const asked = await readJson(request, processRequest);
      const env = { ...traceEnvironment(request.headers), ...asked.env };
      const started = await processes.start({ ...asked, env, ...by });
      sendJson(response, 201, started.info);
    },
    'GET /v1/processes': (_request, response) => sendJson(response, 200, { processes: processes.list() }),
    'POST /v1/expire': (_request, response) => {
      processes.expire();
      sendJson(response, 200, { ok: true });
    },
    'GET /v1/processes/{id}': (_request, response, { params }) => sendJson(response, 200, find(params).info),
    'DELETE /v1/processes/{id}': async (_request, response, { params }) => {
      await processes.remove(params['id'] ?? '');
      response.writeHead(204).end();
    },
    'GET /v1/processes/{id}/output': async ({ headers }, response, { params, url, signal }) => {
      const process = find(params);
      // Last-Event-ID: a browser that reconnects sends its position.
      const since = url.searchParams.get('since') ?? headers['last-event-id'] ?? '0';
      const query = parse({ ...queryOf(url), since }, outputQuery);
      checkCursor(query.since, process.ring.to);
      await streamOutput(process.ring, response, query, signal, () => process.exit ?? undefined);
    },
    'POST /v1/processes/{id}/input': async (request, response, { params, url }) => {
      const { eof } = parse(queryOf(url), inputQuery);
      sendJson(response, 200, { bytes: await find(params).input(request, eof) });
    },
    'POST /v1/processes/{id}/signal': async (request, response, { params }) => {
      const process = find(params);
      process.signal((await readJson(request, signalRequest)).signal);
      sendJson(response, 200, process.info);
    },
    'POST /v1/processes/{id}/resize': async (request, response, { params }) => {
      const process = find(params);
      process.resize(await readJson(request, terminalSize));
      sendJson(response, 200, process.info);
    },
    'POST /v1/processes/{id}/wait': async (request, response, { params, signal }) => {
      const process = find(params);
      const { timeout_ms } = await readJson(request, waitRequest);
      const until = AbortSignal.any([signal, AbortSignal.timeout(timeout_ms)]);
      await unlessAborted(process.ended, until).catch((): never => {
        throw new GuestError('timed_out', `Process ${process.info.id} still runs after ${timeout_ms} ms.`);
      });
      sendJson(response, 200, process.info);
    },
  };
}

/** @throws GuestError `invalid_request` for a cursor beyond the output */
function checkCursor(since: number, end: number): void {
  if (since <= end) return;
  throw new GuestError(
    'invalid_request',
    `since ${since}: output ends at ${end}. Use a cursor from its events.`,
  );
}

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
    'GET /v1/servers/{name}/logs': async ({ headers }, response, { params, url, signal }) => {
      const { ring } = find(params);
      const last = headers['last-event-id'];
      const { since, follow, tail } = parse(
        { ...(last === undefined ? {} : { since: last }), ...queryOf(url) },
        logsQuery,
      );
      checkCursor(since ?? 0, ring.to);
      const begin = since ?? (tail === undefined ? ring.from : cursorOfTail(ring, tail));
      await streamOutput(ring, response, { since: begin, follow }, signal);
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
      const until = AbortSignal.any([signal, AbortSignal.timeout(timeout_ms)]);
      if (!(await ports.reach(port, state, until))) {
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

/**
 * `/v1/runs`: a file for each run of the sandbox, readable by its user only. Files of other runs
 * stay. The home folder is in memory: the files are lost with the sandbox's processes.
 * @throws Error if the home folder cannot be written
 */
export function runRoutes(home: string | undefined): Routes<Handler> {
  return {
    'PUT /v1/runs': async (request, response) => {
      const { running, ended } = await readJson(request, runsRequest);
      if (home === undefined) throw new Error('the sandbox has no HOME');
      const folder = join(home, RUNS_FOLDER);
      for (const { id, access } of running) replacePlain(join(folder, id), access);
      for (const id of ended) rmSync(join(folder, id), { force: true });
      response.writeHead(204).end();
    },
  };
}
