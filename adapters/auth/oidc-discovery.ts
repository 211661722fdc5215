import type { Configuration } from 'openid-client';
import { PortholeError } from '#base/errors.ts';

/** Largest response that is read from an issuer, in bytes. */
const MAX_RESPONSE_BYTES = 262_144;

/** Timeout for requests to the issuer, in seconds. */
export const ISSUER_SECONDS = 5;

export interface OidcClient {
  readonly id: string;
  readonly secret: string | undefined;
}

/**
 * Fetches an issuer's metadata (OpenID Connect Discovery 1.0, section 4). Endpoints of an https
 * issuer must be https: browsers are redirected to one, and another receives the client secret.
 * @throws when the issuer is unreachable, the metadata is for another issuer, or an endpoint is not
 * https
 */
export async function discoverOidc(issuer: string, client: OidcClient): Promise<Configuration> {
  // Only installations with an identity provider load it.
  const { allowInsecureRequests, ClientSecretBasic, customFetch, discovery, None } = await import(
    'openid-client'
  );
  const url = new URL(issuer);
  const authentication = client.secret === undefined ? None() : ClientSecretBasic(client.secret);
  const found = await discovery(url, client.id, client.secret, authentication, {
    timeout: ISSUER_SECONDS,
    [customFetch]: boundedFetch,
    // Plain HTTP is allowed only for an issuer that uses it itself, for example on loopback.
    ...(url.protocol === 'http:' && { execute: [allowInsecureRequests] }),
  });
  const metadata = found.serverMetadata();
  if (metadata.issuer !== issuer) throw new Error(`${issuer} has metadata of the issuer ${metadata.issuer}`);
  for (const name of ['jwks_uri', 'authorization_endpoint', 'token_endpoint'] as const) {
    const endpoint = metadata[name];
    if (endpoint !== undefined && !isOnTheWeb(endpoint, issuer)) {
      throw new Error(`${issuer} has a ${name} that is not https: ${JSON.stringify(endpoint.slice(0, 100))}`);
    }
  }
  return found;
}

/** The error for an issuer that fails or is unreachable. */
export function unavailable(issuer: string, cause: unknown): PortholeError {
  return new PortholeError(
    'service_unavailable',
    `The identity provider ${issuer} cannot be asked right now`,
    { remedy: 'try again.', cause },
  );
}

function isOnTheWeb(endpoint: string, issuer: string): boolean {
  const protocol = URL.parse(endpoint)?.protocol;
  return protocol === 'https:' || (protocol === 'http:' && issuer.startsWith('http:'));
}

/** Rejects a response that exceeds the limit. */
async function boundedFetch(url: string, options: object): Promise<Response> {
  const response = await fetch(url, options);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_RESPONSE_BYTES) throw new Error(`${url} answered more than ${MAX_RESPONSE_BYTES} bytes`);
    chunks.push(chunk);
  }
  const { status, headers } = response;
  return new Response(bytes === 0 ? null : Buffer.concat(chunks), { status, headers });
}
