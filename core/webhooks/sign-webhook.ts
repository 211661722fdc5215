/** Signatures of the Standard Webhooks specification 1.0. */
import {
  createHmac,
  createPrivateKey,
  generateKeyPairSync,
  type JsonWebKey,
  randomBytes,
  sign,
} from 'node:crypto';
import type { SignatureKind } from './webhook-store.ts';

export type SigningKey = {
  /** ISO time from which it no longer signs; null: the present key. */
  readonly until: string | null;
} & (
  | { readonly kind: 'hmac'; readonly secret: string }
  | { readonly kind: 'ed25519'; readonly jwk: Readonly<JsonWebKey> }
);

export function newSigningKey(kind: SignatureKind): SigningKey {
  if (kind === 'hmac') return { kind, until: null, secret: randomBytes(32).toString('base64') };
  const { privateKey } = generateKeyPairSync('ed25519');
  return { kind, until: null, jwk: privateKey.export({ format: 'jwk' }) };
}

/** What the receiver verifies with: the secret, or the public key. */
export function verifier(key: SigningKey): string {
  if (key.kind === 'hmac') return `whsec_${key.secret}`;
  return `whpk_${Buffer.from(key.jwk.x ?? '', 'base64url').toString('base64')}`;
}

export interface SignedMessage {
  /** The same in each attempt. */
  readonly id: string;
  readonly body: string;
}

/** The three headers, signed by each key that is valid. */
export function signatureHeaders(
  { id, body }: SignedMessage,
  keys: readonly SigningKey[],
  now: Date,
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const timestamp = String(Math.floor(now.getTime() / 1_000));
  const content = Buffer.from(`${id}.${timestamp}.${body}`);
  const signatures = validKeys(keys, now).map((key) => signatureOf(key, content));
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

export function validKeys(keys: readonly SigningKey[], now: Date): readonly SigningKey[] {
  return keys.filter(({ until }) => until === null || Date.parse(until) > now.getTime());
}

function signatureOf(key: SigningKey, content: Buffer): string {
  if (key.kind === 'hmac') {
    return `v1,${createHmac('sha256', Buffer.from(key.secret, 'base64')).update(content).digest('base64')}`;
  }
  const privateKey = createPrivateKey({ key: key.jwk, format: 'jwk' });
  return `v1a,${sign(null, content, privateKey).toString('base64')}`;
}
