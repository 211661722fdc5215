import type { IncomingMessage } from 'node:http';
import { parsePortHost } from '#core/previews/port-host.ts';

/** The port of E2B's data plane, which Porthole itself serves. */
const ENVD_PORT = 49_983;

/**
 * Leads a request for a host of E2B's API to its path. E2B's clients use these hosts if only
 * `E2B_DOMAIN` is set.
 * @returns false for another host
 */
export function leadToE2bPath(req: IncomingMessage, zone: string): boolean {
  const { host = '' } = req.headers;
  const port = parsePortHost(host, zone);
  if (port?.targetPort === ENVD_PORT) {
    // The host decides: the token in the request must fit it.
    req.headers['e2b-sandbox-id'] = port.sandboxId;
    req.url = `/e2b/envd${req.url ?? ''}`;
    return true;
  }
  if (host.replace(/:\d{1,5}$/, '').toLowerCase() !== `api.${zone}`) return false;
  req.url = `/e2b${req.url ?? ''}`;
  return true;
}
