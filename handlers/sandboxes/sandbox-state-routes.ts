import { z } from 'zod';
import { later } from '#base/clock-and-ids.ts';
import { mayUseSandbox, ownsSandbox } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import { endSandbox } from '#core/sandboxes/end-sandbox.ts';
import { findSandbox, sandboxNotFound, stopSandbox } from '#core/sandboxes/resume-sandbox.ts';
import { expiryOf } from '#core/sandboxes/sandbox-lifecycle.ts';
import { readySandbox } from '#core/sandboxes/use-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { SandboxDto, toSandboxDto } from './sandbox-dto.ts';
import { OnTimeoutDto, TimeoutSeconds } from './sandbox-schemas.ts';
import { GUEST_ERRORS, SandboxPath } from './sandbox-path.ts';

const deleteSandboxRoute = defineRoute('deleteSandbox', 'DELETE', '/v1/sandbox/{id}', {
  tag: 'Sandboxes',
  summary: 'Destroy a sandbox and its files',
  description: 'Succeeds if the sandbox does not exist. Reusing the id creates a new sandbox.',
  bridge: true,
  params: SandboxPath,
  responses: { 204: { description: 'Destroyed' } },
  errors: ['sandbox_not_found', 'exec_transport_error'],
  async handle({ params, caller }, services) {
    const sandbox = await services.records.sandboxes.get(params.id);
    if (sandbox !== undefined) {
      if (!mayUseSandbox(caller, sandbox, false)) throw sandboxNotFound(params.id);
      await endSandbox(services, sandbox, ownsSandbox(caller, sandbox) ? 'owner' : 'admin');
    }
    return { statusCode: 204, headers: {} };
  },
});

const Heartbeat = z
  .object({
    expires_at: z.iso.datetime().nullable().describe('When it stops without another one; null: no ttl'),
  })
  .meta({ id: 'Heartbeat', example: { expires_at: '2026-03-01T12:10:00.000Z' } });

const heartbeatRoute = defineRoute('heartbeat', 'POST', '/v1/sandbox/{id}/heartbeat', {
  shared: { sandbox: 'work' },
  tag: 'Sandboxes',
  summary: 'Send the heartbeat of a sandbox',
  description:
    'Restarts its `ttl_seconds`, and counts as use. So do an open terminal and a followed timeline. Without any within the ttl it is stopped, and its files are kept. Does not resume a stopped one.',
  params: SandboxPath,
  responses: { 200: { description: 'When its ttl ends', schema: Heartbeat } },
  errors: ['sandbox_not_found', 'sandbox_not_running'],
  async handle({ params, caller }, { records, clock }) {
    const sandbox = await findSandbox({ records }, caller, params.id);
    const beaten = await records.sandboxes.heartbeat(sandbox, clock.now());
    if (beaten !== undefined) return json(200, { expires_at: expiryOf(beaten)?.toISOString() ?? null });
    const now = await records.sandboxes.get(sandbox.id);
    if (now === undefined || now.desired === 'destroyed') throw sandboxNotFound(sandbox.id);
    throw new PortholeError('sandbox_not_running', `Sandbox ${sandbox.id} is stopped`, {
      remedy: `POST /v1/sandbox/${sandbox.id}/resume starts it with its files.`,
    });
  },
});

const TimeoutRequest = z
  .strictObject({
    seconds: TimeoutSeconds.nullable().describe('From now; null: it has no time-out'),
    on_timeout: OnTimeoutDto.optional().describe('Default: unchanged'),
  })
  .meta({ id: 'TimeoutRequest', example: { seconds: 3600 } });

const setTimeoutRoute = defineRoute('setSandboxTimeout', 'PUT', '/v1/sandbox/{id}/timeout', {
  tag: 'Sandboxes',
  summary: 'Set when a sandbox ends',
  description: 'Whatever it does then, it is stopped or deleted. A stop removes the time-out.',
  params: SandboxPath,
  body: TimeoutRequest,
  responses: { 200: { description: 'The sandbox', schema: SandboxDto } },
  errors: ['sandbox_not_found'],
  async handle({ params, body, caller }, services) {
    const sandbox = await findSandbox(services, caller, params.id);
    const timeoutAt = body.seconds === null ? null : later(services.clock, body.seconds * 1_000);
    const onTimeout = body.on_timeout ?? sandbox.onTimeout;
    await services.records.sandboxes.setTimeout(sandbox, timeoutAt, onTimeout);
    return json(200, toSandboxDto({ ...sandbox, timeoutAt, onTimeout }, services.sandboxes.defaultSize));
  },
});

const resumeSandboxRoute = defineRoute('resumeSandbox', 'POST', '/v1/sandbox/{id}/resume', {
  shared: { sandbox: 'work' },
  tag: 'Sandboxes',
  summary: 'Resume a sandbox',
  description: 'Starts it with its files, and returns once it runs. Does nothing to a running one.',
  params: SandboxPath,
  responses: { 200: { description: 'The sandbox', schema: SandboxDto } },
  errors: [...GUEST_ERRORS, 'quota_exceeded'],
  async handle({ params, caller }, services) {
    const sandbox = await findSandbox(services, caller, params.id);
    const ready = await readySandbox(services, sandbox, { inspects: true });
    return json(200, toSandboxDto(ready, services.sandboxes.defaultSize));
  },
});

const stopSandboxRoute = defineRoute('stopSandbox', 'POST', '/v1/sandbox/{id}/stop', {
  tag: 'Sandboxes',
  summary: 'Stop a sandbox',
  description: 'Ends every process in it and keeps its files. Does nothing to a stopped one.',
  params: SandboxPath,
  responses: { 200: { description: 'The sandbox', schema: SandboxDto } },
  errors: ['sandbox_not_found', 'exec_transport_error'],
  async handle({ params, caller }, services) {
    const sandbox = await findSandbox(services, caller, params.id);
    return json(200, toSandboxDto(await stopSandbox(services, sandbox), services.sandboxes.defaultSize));
  },
});

export const sandboxStateRoutes = [
  stopSandboxRoute,
  resumeSandboxRoute,
  heartbeatRoute,
  setTimeoutRoute,
  deleteSandboxRoute,
];
