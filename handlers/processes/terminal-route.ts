import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import { checkSessionId } from '#core/processes/exec-sessions.ts';
import { MAX_COLUMNS, readShell, readSize } from '#core/terminals/terminal-messages.ts';
import { type MessageSocket, withListeners } from '#core/terminals/message-socket.ts';
import { sendHeartbeats } from '#core/sandboxes/sandbox-activity.ts';
import { useSandbox } from '#core/sandboxes/use-sandbox.ts';
import { defineRoute } from '../route.ts';
import { GUEST_ERRORS, SandboxPath } from '../sandboxes/sandbox-path.ts';

/** Unparsed: their validation and errors are the bridge's. */
const Query = z.object({
  cols: z.string().optional().describe(`Columns, 1 to ${MAX_COLUMNS}`).meta({ type: 'integer', example: 80 }),
  rows: z.string().optional().describe(`Rows, 1 to ${MAX_COLUMNS}`).meta({ type: 'integer', example: 24 }),
  shell: z
    .string()
    .optional()
    .describe('Name or path of a program; default: bash')
    .meta({ example: '/bin/bash' }),
  session: z
    .string()
    .optional()
    .describe('Session of the terminal; the header `Session-Id` takes precedence')
    .meta({ example: 'session-1' }),
});

export const ptyTerminalRoute = defineRoute('ptyTerminal', 'GET', '/v1/sandbox/{id}/pty', {
  shared: { sandbox: 'work' },
  tag: 'Sandboxes',
  summary: 'Open a terminal',
  description:
    'A WebSocket. Binary messages are what is typed, and what is shown. Text messages are JSON: to the server `{"type": "resize", "cols", "rows"}`, and `{"type": "pause"}` until `{"type": "resume"}` for a screen that cannot keep up; from it `{"type": "ready"}`, after what the session showed ' +
    'before, at last `{"type": "exit", "code", "signal"?}`, after everything that was shown, and `{"type": "error", "message"}`. A session has one terminal, which all its sockets share and which stays when they ' +
    'go; without a session the terminal ends with its socket.',
  class: 'stream',
  agents: true,
  delegates: { scope: 'exec' },
  bridge: true,
  session: true,
  socket: true,
  params: SandboxPath,
  query: Query,
  responses: { 101: { description: 'The terminal, as a WebSocket' } },
  streams: true,
  errors: [...GUEST_ERRORS, 'too_many_terminals'],
  async handle({ params, query, headers, handshake, caller, signal }, services) {
    if (handshake === undefined) throw new PortholeError('invalid_request', 'WebSocket upgrade required');
    const { size, isAsked } = readSize(query);
    // An empty value in the query counts as absent.
    const session = headers['session-id'] ?? (query.session === '' ? undefined : query.session);
    const sessionId = session === undefined ? undefined : checkSessionId(session);
    const shell = readShell(query.shell);
    handshake.check();
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const terminal = await services.terminals
      .open(sandbox, { sessionId, shell, size, isSizeAsked: isAsked }, signal)
      .catch((error: unknown) => {
        throw failed(error);
      });
    // Only a person's terminal keeps the sandbox alive, not an agent's or a delegate's.
    const watch = () => (caller.kind !== 'person' ? () => undefined : sendHeartbeats(services, sandbox));
    const upgrade = (socket: MessageSocket) => {
      const unwatch = watch();
      const watched = withListeners(socket, (listeners) => ({
        closed() {
          unwatch();
          listeners.closed();
        },
      }));
      terminal.attach(watched);
    };
    return { statusCode: 101, headers: {}, upgrade };
  },
});

/** The bridge's message, for an unreachable sandbox or an unexpected error. */
function failed(error: unknown): unknown {
  if (error instanceof PortholeError && error.code !== 'exec_transport_error') return error;
  const why = error instanceof PortholeError ? error.message : 'it could not be started';
  return new PortholeError('exec_transport_error', `terminal failed: ${why}`, { cause: error });
}
