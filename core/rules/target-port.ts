import { PortholeError } from '../errors.ts';

/** The ports that previews may expose, inclusive; the same pair feeds the NetworkPolicy and the admission policy. */
export interface PortRange {
  readonly allowedPortMin: number;
  readonly allowedPortMax: number;
}

/**
 * @throws PortholeError `invalid_port` outside 1..65535, `port_out_of_range` outside the allowed range
 */
export function checkTargetPort(port: number, range: PortRange): number {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new PortholeError(
      'invalid_port',
      `target_port must be an integer between 1 and 65535, got ${port}.`,
    );
  }
  if (port < range.allowedPortMin || port > range.allowedPortMax) {
    throw new PortholeError(
      'port_out_of_range',
      `preview port must be between ${range.allowedPortMin} and ${range.allowedPortMax}, got ${port}: ` +
        'start the server on a port in that range.',
    );
  }
  return port;
}
