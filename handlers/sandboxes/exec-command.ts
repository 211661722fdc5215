import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
import { executeCommand } from '#core/use-cases/execute-command.ts';
import { findSandbox } from '#core/use-cases/find-sandbox.ts';
import { defineRoute } from '../route.ts';
import { execEvents } from './exec-events.ts';
import { SandboxPath } from './sandbox-path.ts';

const Body = z
  .object({
    argv: z
      .array(z.string('must be a string'), 'must be a non-empty array')
      .min(1, 'must be a non-empty array'),
    timeout_ms: z
      .number('must be a number')
      .positive('must be positive')
      .max(2_147_483_647, 'must be at most 2147483647')
      .optional()
      .describe('Milliseconds; none: no limit')
      .meta({ example: 10_000 }),
    cwd: z
      .string('must be a string')
      .optional()
      .describe('Within /workspace, the default')
      .meta({ example: '/workspace' }),
  })
  .meta({ id: 'ExecRequest' });

export const execCommandRoute = defineRoute({
  id: 'execCommand',
  method: 'POST',
  path: '/v1/sandbox/{id}/exec',
  tag: 'Sandboxes',
  summary: 'Run a command',
  description:
    'Server-sent events: `stdout` and `stderr` (base64), then exactly one of `exit` `{"exit_code": n}` and `error` `{"error", "code"}`. ' +
    'When the client goes away, the command is killed.',
  access: 'caller',
  agents: true,
  params: SandboxPath,
  body: Body,
  responses: { 200: { description: 'The events of the command', contentType: 'text/event-stream' } },
  errors: [
    'path_outside_workspace',
    'sandbox_not_found',
    'sandbox_not_running',
    'exec_transport_error',
    'not_streamable',
  ],
  async handle({ params, body, caller, signal }, services) {
    const sandbox = await findSandbox(services, caller, params.id, { agents: true });
    if (body.argv[0] === '') throw new PortholeError('invalid_request', 'argv[0] must not be empty');
    const command = await executeCommand(
      services,
      sandbox.id,
      { argv: body.argv, timeoutMs: body.timeout_ms, cwd: body.cwd },
      signal,
    );
    return {
      statusCode: 200,
      headers: {
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache',
        'x-accel-buffering': 'no',
      },
      body: execEvents(command, body.timeout_ms),
    };
  },
});
