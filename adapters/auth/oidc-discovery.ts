import { z } from 'zod';

/** Largest document that is read from an issuer, in bytes. */
const MOST_BYTES = 262_144;

/**
 * Reads a JSON response of limited size.
 * @throws when it exceeds the limit, is cut off or is not JSON
 */
export async function boundedJson(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Error(`the answer has more than ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString()) as unknown;
}

/** Timeout for requests to the issuer, in milliseconds. */
export const DISCOVERY_MS = 5_000;

const Document = z.object({
  issuer: z.string(),
  jwks_uri: z.url(),
  authorization_endpoint: z.url().optional(),
  token_endpoint: z.url().optional(),
});

/**
 * Fetches an issuer's metadata (OpenID Connect Discovery 1.0, section 4). Endpoints of an https
 * issuer must be https: browsers are redirected to one, and another receives the client secret.
 * @throws when the issuer is unreachable, the metadata is for another issuer, or an endpoint is not
 * https
 */
export async function discoverOidc(issuer: string): Promise<z.infer<typeof Document>> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const response = await fetch(url, { signal: AbortSignal.timeout(DISCOVERY_MS), redirect: 'error' });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  const { success, data } = Document.safeParse(await boundedJson(response));
  if (!success || data.issuer !== issuer) throw new Error(`${url} does not describe the issuer ${issuer}`);
  for (const name of ['jwks_uri', 'authorization_endpoint', 'token_endpoint'] as const) {
    const endpoint = data[name];
    if (endpoint !== undefined && !isOnTheWeb(endpoint, issuer)) {
      throw new Error(`${url} has a ${name} that is not https: ${JSON.stringify(endpoint.slice(0, 100))}`);
    }
  }
  return data;
}

/** Plain HTTP is allowed only for an issuer that uses it itself, for example on loopback. */
function isOnTheWeb(endpoint: string, issuer: string): boolean {
  const { protocol } = new URL(endpoint);
  return protocol === 'https:' || (protocol === 'http:' && issuer.startsWith('http:'));
}
