import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';
import type { Jwks } from '../settings/shared-values.ts';
import { type GuestKeys, publicKeyText, readJwt, signGuestToken, signJwt } from './guest-pod.ts';

/** One key, already split by purpose, so that a token of one kind can never pass as another. */
export interface SigningKey {
  readonly kid: string;
  /** HMAC-SHA256 over preview coordinates. */
  previewMac(message: string): Buffer;
  /** HS256 for agent tokens. */
  readonly agent: KeyObject;
  /** HS256 for credentials of sandboxes. */
  readonly sandbox: KeyObject;
  /** AES-256-GCM for data in browser cookies. */
  readonly session: KeyObject;
  /** AES-256-GCM for secrets in the records. */
  readonly record: KeyObject;
  /** Ed25519 for requests to guests in a cluster. Guests have only the public key. */
  readonly guest: KeyObject;
  /** Ed25519 for tickets of visitors. What serves previews has only the public key. */
  readonly visit: KeyObject;
  /** Ed25519 for the heads of the audit. */
  readonly audit: KeyObject;
  /** Ed25519 for the tokens by which the broker knows the sandboxes of a cluster. */
  readonly broker: KeyObject;
}

export interface KeySet {
  readonly current: SigningKey;
  readonly byKid: ReadonlyMap<string, SigningKey>;
}

/** Derives the per-purpose keys (HKDF-SHA256, RFC 5869) of every key in the set. */
export function deriveKeySet(jwks: Jwks): KeySet {
  const keys = jwks.keys.map(({ kid, k }): SigningKey => {
    const secret = Buffer.from(k, 'base64url');
    const derive = (purpose: string) =>
      Buffer.from(hkdfSync('sha256', secret, '', `porthole/${purpose}`, 32));
    // A KeyObject: converting bytes for each MAC takes four times as long as the MAC.
    const preview = createSecretKey(derive('preview'));
    return {
      kid,
      previewMac: (message) => createHmac('sha256', preview).update(message).digest(),
      agent: createSecretKey(derive('agent')),
      sandbox: createSecretKey(derive('sandbox')),
      session: createSecretKey(derive('session')),
      record: createSecretKey(derive('record')),
      guest: ed25519Key(derive('guest')),
      visit: ed25519Key(derive('visit')),
      audit: ed25519Key(derive('audit')),
      broker: ed25519Key(derive('broker')),
    };
  });
  return { current: keys[0] as SigningKey, byKid: new Map(keys.map((key) => [key.kid, key])) };
}

/** Prefix of a 32-byte private key in PKCS #8 (RFC 8410 §7). */
const ED25519_PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

function ed25519Key(seed: Buffer): KeyObject {
  return createPrivateKey({ key: Buffer.concat([ED25519_PKCS8, seed]), format: 'der', type: 'pkcs8' });
}

/**
 * Signs requests to guests with a key that the guest's pod was given. New pods get `publicKeys`.
 * Uses the system clock, like the guest that verifies the signature.
 */
export function createGuestKeys({ byKid }: KeySet, now: () => Date = () => new Date()): GuestKeys {
  const keys = new Map([...byKid.values()].map(({ guest }) => [publicKeyText(guest), guest]));
  return {
    publicKeys: [...keys.keys()].join(','),
    sign(known, claims) {
      const key = known
        .split(',')
        .map((each) => keys.get(each))
        .find((each) => each !== undefined);
      return key === undefined ? undefined : signGuestToken(key, claims, now());
    },
  };
}

/** The pod of a sandbox. */
export interface SandboxPodClaims {
  readonly sandboxId: string;
  readonly pod: string;
  /** UID of the pod: the token ends with it. */
  readonly uid: string;
}

/** Tokens that guests in pods present to the broker. */
export interface BrokerTokens {
  sign(claims: SandboxPodClaims): string;
  /** Undefined for a token that is not valid. The caller checks that the pod still runs. */
  verify(token: string): SandboxPodClaims | undefined;
}

const BROKER_TOKEN = 'porthole-broker+jwt';

export function createBrokerTokens({ current, byKid }: KeySet): BrokerTokens {
  const keys = [...byKid.values()].map(({ broker }) => createPublicKey(broker));
  return {
    sign: ({ sandboxId, pod, uid }) => signJwt(current.broker, BROKER_TOKEN, { sub: sandboxId, pod, uid }),
    verify(token) {
      const { sub, pod, uid } = readJwt(token, BROKER_TOKEN, keys) ?? {};
      if (typeof sub !== 'string' || typeof pod !== 'string' || typeof uid !== 'string') return undefined;
      return { sandboxId: sub, pod, uid };
    },
  };
}
