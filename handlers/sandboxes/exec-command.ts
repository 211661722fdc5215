import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
import { collectCommand } from '#core/use-cases/collect-command.ts';
import { checkCommand } from '#core/rules/grant.ts';
import { executeCommand } from '#core/use-cases/execute-command.ts';
import { publishCommand } from '#core/use-cases/publish-command.ts';
import { useSandbox } from '#core/use-cases/use-sandbox.ts';
import { EVENT_STREAM_HEADERS } from '../event-stream.ts';
import { prefers } from '../prefers.ts';
import { defineRoute, json } from '../route.ts';
import { execEvents, failedEvents } from './exec-events.ts';
import { BlockedHostDto, blockedFrom } from './blocked-hosts.ts';
import { SandboxPath } from './sandbox-path.ts';
import { checkSessionHeader } from './session-header.ts';

/** Clients of the bridge send null for what they have not set. */
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
    stdout: z.string().describe('Its first MiB; bytes that are no UTF-8 are U+FFFD'),
    stderr: z.string().describe('The same'),
    timed_out: z.boolean(),
    truncated: z.boolean().describe('One of them had more, which is dropped'),
    blocked: z
      .array(BlockedHostDto)
      .optional()
      .describe('Hosts that the sandbox was not allowed to reach meanwhile. Absent where there are none'),
  })
  .meta({ id: 'ExecResult' });

export const execCommandRoute = defineRoute({
  id: 'execCommand',
  method: 'POST',
  path: '/v1/sandbox/{id}/exec',
  tag: 'Sandboxes',
  summary: 'Run a command',
  description:
    'Server-sent events: `stdout` and `stderr` (base64), then exactly one of `exit` `{"exit_code": n}` (with `blocked` where the network refused hosts) and `error` `{"error", "code"}`. ' +
    'Who accepts `application/json` and `text/event-stream` less, or not at all, gets one JSON answer once it has ended. When the client goes away, the command is killed. With a `Session-Id`, it starts in the working directory and the environment of that session, and leaves its own there.',
  access: 'caller',
  class: 'stream',
  agents: true,
  delegates: { scope: 'exec', enforces: 'commands' },
  bridge: true,
  session: true,
  params: SandboxPath,
  body: Body,
  responses: {
    200: {
      description: 'The events of the command, or what came of it',
      contentType: 'text/event-stream',
      schema: Collected,
    },
  },
  streams: true,
  errors: [
    'exec_error',
    'path_outside_workspace',
    'sandbox_not_found',
    'sandbox_not_running',
    'exec_transport_error',
  ],
  async handle({ params, headers, body, caller, signal }, services) {
    if (body.argv[0] === '') throw new PortholeError('invalid_request', 'argv[0] must not be empty');
    const sessionId = checkSessionHeader(headers);
    if (caller.kind === 'delegate') checkCommand(caller.grant, body.argv, sessionId);
    const sandbox = await useSandbox(services, caller, params.id, { agents: true });
    const timeoutMs = body.timeout_ms ?? undefined;
    const blocked = blockedFrom(services, sandbox.id);
    const command = executeCommand(
      services,
      sandbox.id,
      { argv: body.argv, timeoutMs, cwd: body.cwd ?? undefined, sessionId, env: sandbox.env },
      signal,
    );
    command.then(
      (running) => publishCommand(services.publisher, sandbox.id, body.argv, running),
      () => undefined,
    );
    const vary = { vary: 'accept' };
    if (prefers(headers['accept'], 'application/json', 'text/event-stream')) {
      const { exitCode, stdout, stderr, timedOut, truncated } = await collectCommand(await command);
      return json(
        200,
        { exit_code: exitCode, stdout, stderr, timed_out: timedOut, truncated, ...blocked() },
        vary,
      );
    }
    const events = await command.then(
      (running) => execEvents(running, timeoutMs, blocked),
      (error: unknown) => {
        if (error instanceof PortholeError && error.code === 'exec_error') return failedEvents(error);
        throw error;
      },
    );
    return {
      statusCode: 200,
      headers: { ...EVENT_STREAM_HEADERS, ...vary },
      body: events,
    };
  },
});
