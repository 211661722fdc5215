import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
import type { PortRange } from '#core/rules/target-port.ts';
import { SandboxPath } from './sandbox-path.ts';

export const TunnelPath = SandboxPath.extend({
  port: z.string().max(400).describe('TCP port in the sandbox, in the range that previews may have'),
});

/** @throws PortholeError `invalid_request`, worded as the sandbox bridge does */
export function tunnelPort(text: string, { allowedPortMin, allowedPortMax }: PortRange): number {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
  if (port >= allowedPortMin && port <= allowedPortMax) return port;
  throw new PortholeError(
    'invalid_request',
    `Invalid port ${JSON.stringify(text.slice(0, 20))}: previews may have ${allowedPortMin} to ${allowedPortMax}`,
  );
}
