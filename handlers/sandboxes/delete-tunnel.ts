import { mayUseSandbox, requirePerson } from '#core/callers.ts';
import { sandboxNotFound } from '#core/use-cases/find-sandbox.ts';
import { closeTunnel } from '#core/use-cases/tunnels/close-tunnel.ts';
import { defineRoute } from '../route.ts';
import { TunnelPath, tunnelPort } from './tunnel-path.ts';

export const deleteTunnelRoute = defineRoute({
  id: 'deleteTunnel',
  method: 'DELETE',
  path: '/v1/sandbox/{id}/tunnel/{port}',
  tag: 'Sandboxes',
  summary: 'Close a tunnel',
  description: 'Also where there is none. The next tunnel of the port has another URL.',
  access: 'caller',
  bridge: true,
  params: TunnelPath,
  responses: { 204: { description: 'Closed' } },
  errors: ['sandbox_not_found', 'tunnel_error'],
  async handle({ params, caller, signal }, services) {
    const person = requirePerson(caller, 'close tunnels');
    const port = tunnelPort(params.port, services.preview);
    const sandbox = await services.records.sandboxes.get(params.id);
    if (sandbox !== undefined) {
      if (!mayUseSandbox(person, sandbox, false)) throw sandboxNotFound(params.id);
      await closeTunnel(services, person, sandbox, port, signal);
    }
    return { statusCode: 204, headers: {} };
  },
});
