import { z } from 'zod';

/** No document of an issuer is this long, in bytes. */
const MOST_BYTES = 262_144;

/**
 * The JSON of an answer that may not be as short as it should. @throws where it is longer, cut off,
 * or no JSON
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

/** The longest wait for an answer of the issuer, in milliseconds. */
export const DISCOVERY_MS = 5_000;

const Document = z.object({
  issuer: z.string(),
  jwks_uri: z.url(),
  authorization_endpoint: z.url().optional(),
  token_endpoint: z.url().optional(),
});

/**
 * What an issuer says of itself (OpenID Connect Discovery 1.0, section 4). An issuer on https has
 * all its endpoints there: browsers are sent to one, and another gets the client's secret.
 * @throws when it cannot be asked, speaks for another, or names an endpoint that is not on the web
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

/** Plain http is for an issuer that is itself on it, as they are on loopback. */
function isOnTheWeb(endpoint: string, issuer: string): boolean {
  const { protocol } = new URL(endpoint);
  return protocol === 'https:' || (protocol === 'http:' && issuer.startsWith('http:'));
}
