import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import type { StartedRef } from '#core/processes/sandbox-processes.ts';
import { sendHeartbeats } from '#core/sandboxes/sandbox-activity.ts';
import { findSandbox } from '#core/sandboxes/resume-sandbox.ts';
import { attachTerminal } from '#core/terminals/attached-terminal.ts';
import { type MessageSocket, withListeners } from '#core/terminals/message-socket.ts';
import { MAX_COLUMNS, readSize } from '#core/terminals/terminal-messages.ts';
import type { HttpResponse } from '../http/http-event.ts';
import { defineRoute, type RouteRequest } from '../route.ts';
import type { Services } from '../services.ts';
import { Cursor } from './output-stream.ts';
import { processRef, processWork } from './process-routes.ts';

/** Unparsed: their validation is that of the session's terminals. */
export const attachSize = {
  cols: z.string().optional().describe(`Columns, 1 to ${MAX_COLUMNS}`).meta({ type: 'integer', example: 80 }),
  rows: z.string().optional().describe(`Rows, 1 to ${MAX_COLUMNS}`).meta({ type: 'integer', example: 24 }),
};

export const ATTACH_DESCRIPTION =
  'A WebSocket. Binary messages to the server are what is typed. Each piece of output is a text message `{"type": "chunk", "cursor", "byteLength"}` and a binary one with the bytes; that cursor in the query of a later connection resumes there without a gap. Text messages are JSON: to the server `{"type": "resize", "cols", "rows"}`, `interrupt`, `terminate`, and `pause` until `resume`; from it `ready`, `truncated` where output was dropped, `exit` and `error`. The program continues when the socket closes.';

interface AttachQuery {
  readonly since: number | undefined;
  readonly cols?: string | undefined;
  readonly rows?: string | undefined;
}

/** @throws PortholeError `too_many_terminals`, and what `attachTerminal` throws */
export async function attachResponse(
  services: Services,
  { handshake, signal }: Pick<RouteRequest<unknown, unknown, unknown>, 'handshake' | 'signal'>,
  ref: StartedRef<'processes'>,
  { since, ...query }: AttachQuery,
): Promise<HttpResponse> {
  const { caller, sandboxId } = ref;
  if (handshake === undefined) throw new PortholeError('invalid_request', 'WebSocket upgrade required');
  const { size, isAsked } = readSize(query);
  handshake.check();
  const sandbox = await findSandbox(services, caller, sandboxId, { agents: true });
  const show = await attachTerminal(services, ref, { since, size: isAsked ? size : undefined });
  const leave = reservation(services.terminals.reserve(sandbox), signal);
  // Only a person's terminal keeps the sandbox alive, not an agent's or a delegate's.
  const watch = () => (caller.kind === 'person' ? sendHeartbeats(services, sandbox) : () => undefined);
  const upgrade = (socket: MessageSocket) => {
    const unwatch = watch();
    show(
      withListeners(socket, (listeners) => ({
        closed() {
          unwatch();
          leave();
          listeners.closed();
        },
      })),
    );
  };
  return { statusCode: 101, headers: {}, upgrade };
}

/** Ends it once: with the socket, or with a connection that goes before there is a socket. */
function reservation(end: () => void, signal: AbortSignal | undefined): () => void {
  let isOver = false;
  const leave = () => {
    if (!isOver) end();
    isOver = true;
  };
  if (signal?.aborted === true) leave();
  else signal?.addEventListener('abort', leave, { once: true });
  return leave;
}

export const attachProcessRoute = defineRoute(
  'attachProcess',
  'GET',
  '/v1/sandbox/{id}/processes/{pid}/terminal',
  {
    ...processWork,
    class: 'stream',
    summary: 'Connect to the terminal of a process',
    description: ATTACH_DESCRIPTION,
    socket: true,
    query: z.object({
      since: Cursor.optional().describe('A cursor: output starts after it. Default: all that is kept'),
      ...attachSize,
    }),
    responses: { 101: { description: 'The terminal, as a WebSocket' } },
    streams: true,
    errors: [...processWork.errors, 'conflict', 'too_many_terminals'],
    handle: (request, services) =>
      attachResponse(services, request, processRef(request), {
        ...request.query,
        since: request.query.since,
      }),
  },
);
