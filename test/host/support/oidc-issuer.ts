import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface OidcIssuer {
  readonly url: string;
  /** Good for an hour, for audience `porthole`, unless said otherwise. */
  sign(
    claims: JWTPayload,
    more?: { readonly alg?: 'RS256' | 'ES256'; readonly kid?: string },
  ): Promise<string>;
  /** The public RS256 key in PEM: what an attacker would take for an HS256 secret. */
  readonly publicPem: string;
  /** What every answer is from now on; undefined: as it should be. */
  answerWith(status: number | undefined): void;
  close(): Promise<void>;
}

/** An OpenID Connect issuer on loopback: discovery, a key set with an RSA and an EC key, and tokens. */
export async function startOidcIssuer(port = 0): Promise<OidcIssuer> {
  const [rsa, ec] = await Promise.all([generateKeyPair('RS256'), generateKeyPair('ES256')]);
  const jwks = {
    keys: [
      { ...(await exportJWK(rsa.publicKey)), kid: 'RS256', alg: 'RS256', use: 'sig' },
      { ...(await exportJWK(ec.publicKey)), kid: 'ES256', alg: 'ES256', use: 'sig' },
    ],
  };
  let forced: number | undefined;
  let url = '';
  const server = createServer((req, res) => {
    const documents: Record<string, unknown> = {
      '/.well-known/openid-configuration': { issuer: url, jwks_uri: `${url}/keys` },
      '/keys': jwks,
    };
    res.writeHead(forced ?? 200, { 'content-type': 'application/json' });
    res.end(JSON.stringify(forced === undefined ? documents[req.url ?? ''] : { error: 'out of order' }));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    publicPem: await exportSPKI(rsa.publicKey),
    sign: (claims, { alg = 'RS256', kid = alg } = {}) =>
      new SignJWT({
        iss: url,
        aud: 'porthole',
        sub: 'carol',
        org: 'acme',
        exp: Math.floor(Date.now() / 1000) + 3600,
        ...claims,
      })
        .setProtectedHeader({ alg, kid })
        .sign(alg === 'RS256' ? rsa.privateKey : ec.privateKey),
    answerWith(status) {
      forced = status;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
