import { z } from 'zod';

/** The longest wait for an answer of the issuer, in milliseconds. */
export const DISCOVERY_MS = 5_000;

const Document = z.object({
  issuer: z.string(),
  jwks_uri: z.url(),
  authorization_endpoint: z.url().optional(),
  token_endpoint: z.url().optional(),
});

/** What an issuer says of itself (OpenID Connect Discovery 1.0, section 4); throws when it cannot be asked, or speaks for another. */
export async function discoverOidc(issuer: string): Promise<z.infer<typeof Document>> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const response = await fetch(url, { signal: AbortSignal.timeout(DISCOVERY_MS), redirect: 'error' });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  const { success, data } = Document.safeParse(await response.json());
  if (!success || data.issuer !== issuer) throw new Error(`${url} does not describe the issuer ${issuer}`);
  return data;
}
