import { z } from 'zod';
import { mayUseSandbox } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { PortRange } from '#core/previews/preview-limits.ts';
import { closeTunnel, openTunnel } from '#core/previews/tunnels.ts';
import { sandboxNotFound } from '#core/sandboxes/resume-sandbox.ts';
import { useSandbox } from '#core/sandboxes/use-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { GUEST_ERRORS, SandboxPath } from '../sandboxes/sandbox-path.ts';

const TunnelPath = SandboxPath.extend({
  port: z
    .string()
    .max(400)
    .describe('TCP port in the sandbox, in the range that previews may have')
    .meta({ pattern: String.raw`^\d{1,5}$` }),
});

/** @throws PortholeError `invalid_request`, in the sandbox bridge's wording */
function tunnelPort(text: string, { allowedPortMin, allowedPortMax }: PortRange): number {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
  if (port >= allowedPortMin && port <= allowedPortMax) return port;
  throw new PortholeError(
    'invalid_request',
    `Invalid port ${JSON.stringify(text.slice(0, 20))}: previews may have ${allowedPortMin} to ${allowedPortMax}`,
  );
}

/** RFC 1035 section 2.3.1, and digits first (RFC 1123 section 2.1). */
const DNS_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

const Body = z
  .object({
    name: z
      .string('name must be a string when provided')
      .regex(DNS_LABEL, 'name is not a valid DNS label: 1 to 63 of a-z, 0-9 and -, not at an end')
      .nullish()
      .describe('Returned as sent. It is not in the URL, because names can be guessed'),
  })
  .meta({ id: 'TunnelRequest' });

const Tunnel = z
  .object({
    id: z.string(),
    port: z.number().int(),
    url: z.string(),
    hostname: z.string(),
    createdAt: z.iso.datetime(),
    name: z.string().optional(),
  })
  .meta({ id: 'Tunnel' });

const createTunnelRoute = defineRoute('createTunnel', 'POST', '/v1/sandbox/{id}/tunnel/{port}', {
  tag: 'Sandboxes',
  summary: 'Open a tunnel to a port',
  description:
    'A preview of the port, on a run that the sandbox has for its tunnels. It lives as previews do: traffic keeps it, an idle one ends. Not for agents, who ask for a preview of their run.',
  bridge: true,
  params: TunnelPath,
  body: Body,
  responses: { 200: { description: 'The tunnel', schema: Tunnel } },
  errors: ['tunnel_error', ...GUEST_ERRORS],
  async handle({ params, body, person, signal }, services) {
    const port = tunnelPort(params.port, services.previewSettings);
    const sandbox = await useSandbox(services, person, params.id);
    const { name: id, url, createdAt } = await openTunnel(services, person, sandbox, port, signal);
    return json(200, {
      id,
      port,
      url,
      hostname: new URL(url).hostname,
      createdAt: createdAt.toISOString(),
      ...(typeof body.name === 'string' ? { name: body.name } : {}),
    });
  },
});

const deleteTunnelRoute = defineRoute('deleteTunnel', 'DELETE', '/v1/sandbox/{id}/tunnel/{port}', {
  tag: 'Sandboxes',
  summary: 'Close a tunnel',
  description: 'Succeeds if the tunnel does not exist. The next tunnel of the port has another URL.',
  bridge: true,
  params: TunnelPath,
  responses: { 204: { description: 'Closed' } },
  errors: ['sandbox_not_found', 'tunnel_error'],
  async handle({ params, person, signal }, services) {
    const port = tunnelPort(params.port, services.previewSettings);
    const sandbox = await services.records.sandboxes.get(params.id);
    if (sandbox !== undefined) {
      if (!mayUseSandbox(person, sandbox, false)) throw sandboxNotFound(params.id);
      await closeTunnel(services, person, sandbox, port, signal);
    }
    return { statusCode: 204, headers: {} };
  },
});

export const tunnelRoutes = [createTunnelRoute, deleteTunnelRoute];
