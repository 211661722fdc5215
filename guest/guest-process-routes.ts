import * as z from 'zod/mini';
import { streamOutput } from './output-ring.ts';
import type { Processes } from './guest-processes.ts';
import { terminalSize } from './protocol/exec-protocol.ts';
import {
  outputQuery,
  processRequest,
  signalRequest,
  type StartedBy,
  waitRequest,
} from './protocol/processes-protocol.ts';
import { parse, readJson } from './read-json.ts';
import { GuestError, type Handler, type Routes, sendJson } from './router.ts';

/** The query of a request as an object. */
export function queryOf(url: URL): Record<string, string> {
  return Object.fromEntries(url.searchParams);
}

/** Resolves to false if `ms` pass first, or the caller is gone. */
export async function within(ms: number, event: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), ms);
  const gone = (): void => late.resolve(false);
  signal.addEventListener('abort', gone);
  try {
    return await Promise.race([event.then(() => true), late.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', gone);
  }
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
      const started = await processes.start({ ...(await readJson(request, processRequest)), ...by });
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
    'GET /v1/processes/{id}/output': async ({ headers }, response, { params, url }) => {
      const process = find(params);
      // Last-Event-ID: a browser that reconnects sends its position.
      const since = url.searchParams.get('since') ?? headers['last-event-id'] ?? '0';
      const query = parse({ ...queryOf(url), since }, outputQuery);
      checkCursor(query.since, process.ring.to);
      await streamOutput(process.ring, response, query, () => process.exit ?? undefined);
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
      if (!(await within(timeout_ms, process.ended, signal))) {
        throw new GuestError('timed_out', `Process ${process.info.id} still runs after ${timeout_ms} ms.`);
      }
      sendJson(response, 200, process.info);
    },
  };
}

/** @throws GuestError `invalid_request` for a cursor beyond the output */
export function checkCursor(since: number, end: number): void {
  if (since <= end) return;
  throw new GuestError(
    'invalid_request',
    `since ${since}: output ends at ${end}. Use a cursor from its events.`,
  );
}
