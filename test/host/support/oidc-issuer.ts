import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface OidcIssuer {
  readonly url: string;
  /** Valid for an hour, for audience `porthole`, unless set otherwise. */
  sign(
    claims: JWTPayload,
    more?: { readonly alg?: 'RS256' | 'ES256'; readonly kid?: string },
  ): Promise<string>;
  /** The public RS256 key in PEM, which an attacker would use as an HS256 secret. */
  readonly publicPem: string;
  /** Sets the status of all later responses; undefined: normal responses. */
  answerWith(status: number | undefined): void;
  /**
   * A code for the browser sent to `authorize` with the query: the holder of the verifier can
   * exchange it once for an `id_token` with the claims.
   */
  grant(query: Readonly<Record<string, string>>, claims: JWTPayload): string;
  /**
   * Sets the response to later sign-ins of browsers: this person, or these fields in place of a
   * code.
   */
  vouchFor(claims: JWTPayload, instead?: Readonly<Record<string, string>>): void;
  close(): Promise<void>;
}

/**
 * An OpenID Connect issuer on loopback: discovery, a key set with an RSA and an EC key, and tokens.
 */
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
  const sign: OidcIssuer['sign'] = (claims, { alg = 'RS256', kid = alg } = {}) =>
    new SignJWT({
      iss: url,
      aud: 'porthole',
      sub: 'carol',
      org: 'acme',
      exp: Math.floor(Date.now() / 1000) + 3600,
      ...claims,
    })
      .setProtectedHeader({ alg, kid })
      .setIssuedAt()
      .sign(alg === 'RS256' ? rsa.privateKey : ec.privateKey);
  const grants = new Map<string, { readonly challenge: string | undefined; readonly claims: JWTPayload }>();
  const exchange = async (body: string): Promise<object | undefined> => {
    const form = new URLSearchParams(body);
    const granted = grants.get(form.get('code') ?? '');
    grants.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (granted === undefined || granted.challenge !== challenge) return undefined;
    return { token_type: 'Bearer', access_token: 'unused', id_token: await sign(granted.claims) };
  };
  const answerExchange = async (body: string, res: ServerResponse): Promise<void> => {
    const answer = await exchange(body);
    res.writeHead(answer === undefined ? 400 : 200, { 'content-type': 'application/json' });
    res.end(JSON.stringify(answer ?? { error: 'invalid_grant' }));
  };
  let person: JWTPayload = {};
  let instead: Readonly<Record<string, string>> | undefined;
  const grant: OidcIssuer['grant'] = (query, claims) => {
    const code = randomUUID();
    grants.set(code, {
      challenge: query['code_challenge'],
      claims: { nonce: query['nonce'], ...claims },
    });
    return code;
  };
  const server = createServer((req, res) => {
    const asked = new URL(req.url ?? '/', 'http://issuer');
    if (asked.pathname === '/authorize') {
      const query = Object.fromEntries(asked.searchParams);
      const back = new URL(query['redirect_uri'] ?? '');
      const answer = instead ?? { code: grant(query, person) };
      const all = { state: query['state'] ?? '', iss: url, ...answer };
      for (const [name, value] of Object.entries(all)) back.searchParams.set(name, value);
      res.writeHead(302, { location: back.href }).end();
      return;
    }
    if (req.url === '/token' && forced === undefined) {
      let body = '';
      req.on('data', (chunk: Buffer) => (body += chunk.toString()));
      req.once('end', () => {
        void answerExchange(body, res);
      });
      return;
    }
    const documents: Record<string, unknown> = {
      '/.well-known/openid-configuration': {
        issuer: url,
        jwks_uri: `${url}/keys`,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
      },
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
    sign,
    grant,
    vouchFor(claims, fields) {
      person = claims;
      instead = fields;
    },
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
