import { z } from 'zod';
import { listPorts, waitForPort } from '#core/processes/sandbox-ports.ts';
import { WAIT_MS } from '#protocol/guest/processes-protocol.ts';
import { portText } from '../http/read-input.ts';
import { defineRoute, json } from '../route.ts';
import { GUEST_ERRORS, SandboxPath } from '../sandboxes/sandbox-path.ts';
import { PortListDto, PortStateDto, timeout } from './process-dto.ts';

const listPortsRoute = defineRoute('listPorts', 'GET', '/v1/sandbox/{id}/ports', {
  shared: { sandbox: 'view' },
  tag: 'Ports',
  summary: 'List the ports that listen',
  description: '`server` and `process_id` name the owner of the port, if known.',
  agents: true,
  delegates: { scope: 'exec', enforces: 'commands' },
  params: SandboxPath,
  responses: { 200: { description: 'Ascending by port', schema: PortListDto } },
  errors: GUEST_ERRORS,
  async handle({ params, caller, signal }, services) {
    return json(200, { ports: await listPorts(services, { caller, sandboxId: params.id, signal }) });
  },
});

const waitForPortRoute = defineRoute('waitForPort', 'POST', '/v1/sandbox/{id}/ports/{port}/wait', {
  shared: { sandbox: 'view' },
  tag: 'Ports',
  summary: 'Wait for a port',
  description:
    'Returns once something listens on the port (with `closed`: once nothing does). On timeout: 408, and `existing` lists the ports that listen.',
  class: 'stream',
  agents: true,
  delegates: { scope: 'exec', enforces: 'commands' },
  params: SandboxPath.extend({
    port: portText.meta({ example: '3000' }),
  }),
  body: z
    .strictObject({
      state: z.enum(['listening', 'closed']).default('listening'),
      timeout_ms: timeout(WAIT_MS.longest).default(WAIT_MS.usual),
    })
    .meta({ id: 'PortWait' }),
  responses: { 200: { description: 'The port', schema: PortStateDto } },
  errors: [...GUEST_ERRORS, 'wait_timed_out'],
  async handle({ params, body, caller, signal }, services) {
    const wait = { port: params.port, state: body.state, timeoutMs: body.timeout_ms };
    return json(200, await waitForPort(services, { caller, sandboxId: params.id, signal }, wait));
  },
});

export const portRoutes = [listPortsRoute, waitForPortRoute];
