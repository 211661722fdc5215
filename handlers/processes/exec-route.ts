import { commandEnvironment } from '#core/network/network-secrets.ts';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { z } from 'zod';
import { freeBuffer, ownPieces } from '#base/free-buffer.ts';
import { checkCommand } from '#core/delegations/delegation-store.ts';
import { PortholeError } from '#base/errors.ts';
import { collectCommand } from '#core/processes/collect-command.ts';
import { executeCommand, type RunningCommand } from '#core/processes/execute-command.ts';
import { publishCommand } from '#core/sandboxes/sandbox-event-publisher.ts';
import { useSandbox } from '#core/sandboxes/use-sandbox.ts';
import { errorFrame, eventStream, frame } from '../http/event-stream-response.ts';
import { prefers } from '../http/response-headers.ts';
import { defineRoute, json } from '../route.ts';
import { checkpointAtCommand } from '../sandboxes/checkpoint-triggers.ts';
import { blockedFrom, BlockedHostDto } from '../sandboxes/blocked-hosts.ts';
import { GUEST_ERRORS, SandboxPath } from '../sandboxes/sandbox-path.ts';
import { checkSessionHeader } from './exec-session-routes.ts';

/** Heartbeat interval of a silent stream, in milliseconds; 15 s are promised. */
const HEARTBEAT_MS = 14_000;

/**
 * A comment (HTML standard, section 9.2.6): keeps proxies from closing the stream; clients ignore
 * it.
 */
const HEARTBEAT = ':\n\n';

/** After a lost connection. */
const RUN_AGAIN = 'run the command again.';

/** Read-ahead in bytes of events: three pieces of a pipe. */
const AHEAD = 256 * 1024;

/**
 * A running command as the bridge's event stream, with heartbeats while it is silent. A slow reader
 * slows the command (back-pressure); a disconnected one ends it. An unknown outcome (a lost
 * connection) is an `error`, never an exit code.
 */
function execEvents(
  command: RunningCommand,
  timeoutMs: number | undefined,
  atExit: () => Promise<object>,
): Readable {
  const { process } = command;
  const outputs = [process.stdout, process.stderr];
  const events = new Readable({
    highWaterMark: AHEAD,
    read: () => outputs.forEach((output) => output.resume()),
    destroy: (error, done) => {
      process.kill('SIGKILL');
      outputs.forEach((output) => output.destroy());
      done(error);
    },
  });
  const heartbeat = setInterval(() => {
    if (events.readableLength === 0) events.push(HEARTBEAT);
  }, HEARTBEAT_MS);
  heartbeat.unref();
  events.once('close', () => clearInterval(heartbeat));
  const forward = (event: 'stdout' | 'stderr', output: Readable) => {
    output.on('data', (chunk: Buffer) => {
      heartbeat.refresh();
      const output = outputFrame(event, chunk);
      freeBuffer(chunk);
      if (!events.push(output)) outputs.forEach((each) => each.pause());
    });
    // A lost connection also rejects the exit code, which reports it.
    output.on('error', () => undefined);
  };
  forward('stdout', process.stdout);
  forward('stderr', process.stderr);
  // The exit may arrive before the last output has been read; it is sent afterwards.
  const drained = Promise.allSettled(outputs.map((output) => finished(output)));
  void Promise.all([lastFrames(command, timeoutMs, atExit), drained]).then(([frames]) => {
    clearInterval(heartbeat);
    if (events.destroyed) return false;
    events.push(frames);
    return events.push(null);
  });
  return events;
}

/**
 * The final frames: exactly one `exit` or `error`, after the notice of a timeout, if any. Never
 * rejects.
 */
async function lastFrames(
  { exitCode, timedOut }: RunningCommand,
  timeoutMs: number | undefined,
  atExit: () => Promise<object>,
): Promise<string> {
  try {
    const exit = frame('exit', JSON.stringify({ exit_code: await exitCode, ...(await atExit()) }));
    if (!timedOut()) return exit;
    return frame('stderr', Buffer.from(`Command timed out after ${timeoutMs}ms\n`).toString('base64')) + exit;
  } catch (error) {
    return errorFrame(error, RUN_AGAIN);
  }
}

/**
 * Bytes that are encoded at a time: texts of a whole piece fill the heap of V8, and leave gaps in
 * it. Of three bytes each, so that the parts join.
 */
const ENCODED = 6 * 1024;

/** Output of a command, in one buffer: a stream copies text twice more. */
function outputFrame(event: 'stdout' | 'stderr', chunk: Buffer): Buffer {
  const head = `event: ${event}\ndata: `;
  const out = Buffer.allocUnsafe(head.length + 4 * Math.ceil(chunk.length / 3) + 2);
  let at = out.write(head, 'latin1');
  for (let from = 0; from < chunk.length; from += ENCODED)
    at += out.write(chunk.toString('base64', from, from + ENCODED), at, 'latin1');
  out.write('\n\n', at, 'latin1');
  return out;
}

/** Clients of the bridge send null for unset fields. */
const Body = z
  .object({
    argv: z
      .array(z.string('must be a string'), 'argv must be a non-empty array')
      .min(1, 'argv must be a non-empty array'),
    timeout_ms: z
      .number('must be a number')
      .positive('must be positive')
      .max(2_147_483_647, 'must be at most 2147483647')
      .nullish()
      .describe('Milliseconds; none: no limit')
      .meta({ example: 10_000 }),
    cwd: z
      .string('must be a string')
      .nullish()
      .describe('Within /workspace, the default')
      .meta({ example: '/workspace' }),
  })
  .meta({ id: 'ExecRequest' });

const Collected = z
  .object({
    exit_code: z.number().int().describe('128 + n after signal n; 124 after the time limit'),
    stdout: z.string().describe('Its first MiB; invalid UTF-8 becomes U+FFFD'),
    stderr: z.string().describe('The same'),
    timed_out: z.boolean(),
    truncated: z.boolean().describe('Whether more output was dropped'),
    blocked: z
      .array(BlockedHostDto)
      .optional()
      .describe('Hosts that the network policy blocked meanwhile. Absent if none'),
  })
  .meta({ id: 'ExecResult' });

export const execCommandRoute = defineRoute('execCommand', 'POST', '/v1/sandbox/{id}/exec', {
  shared: { sandbox: 'work' },
  tag: 'Sandboxes',
  summary: 'Run a command',
  description:
    'Server-sent events: `stdout` and `stderr` (base64), then exactly one of `exit` `{"exit_code": n}` (with `blocked` where the network refused hosts) and `error` `{"error", "code"}`. ' +
    'A client that prefers `application/json` gets one JSON response at the end. When the client goes away, the command is killed. With a `Session-Id`, it starts in the working directory and the environment of that session, and leaves its own there.',
  class: 'stream',
  agents: true,
  delegates: { scope: 'exec', enforces: 'commands' },
  bridge: true,
  session: true,
  params: SandboxPath,
  body: Body,
  responses: {
    200: {
      description: 'The events of the command, or its result',
      contentType: 'text/event-stream',
      schema: Collected,
    },
  },
  streams: true,
  errors: ['exec_error', 'path_outside_workspace', ...GUEST_ERRORS],
  async handle({ params, headers, body, caller, signal }, services) {
    if (body.argv[0] === '') throw new PortholeError('invalid_request', 'argv[0] must not be empty');
    const sessionId = checkSessionHeader(headers);
    if (caller.kind === 'delegate') checkCommand(caller.grant, body.argv, { sessionId });
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const timeoutMs = body.timeout_ms ?? undefined;
    await checkpointAtCommand(services, sandbox.id, body.argv, signal);
    const blocked = blockedFrom(services, sandbox.id);
    const command = executeCommand(
      services,
      sandbox.id,
      { argv: body.argv, timeoutMs, cwd: body.cwd ?? undefined, sessionId, env: commandEnvironment(sandbox) },
      signal,
    );
    command.then(
      (running) => publishCommand(services.publisher, sandbox.id, body.argv, running, caller),
      () => undefined,
    );
    const vary = { vary: 'accept' };
    if (prefers(headers['accept'], 'application/json', 'text/event-stream')) {
      const { exitCode, stdout, stderr, timedOut, truncated } = await collectCommand(await command);
      return json(
        200,
        { exit_code: exitCode, stdout, stderr, timed_out: timedOut, truncated, ...(await blocked()) },
        vary,
      );
    }
    const events = await command.then(
      (running) => execEvents(running, timeoutMs, blocked),
      (error: unknown) => {
        // The bridge's form of a failed start.
        if (error instanceof PortholeError && error.code === 'exec_error')
          return errorFrame(error, RUN_AGAIN);
        throw error;
      },
    );
    return eventStream(typeof events === 'string' ? events : ownPieces(events), vary);
  },
});
