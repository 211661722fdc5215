/** How a guest runs in a pod, and how it authenticates its callers. */
import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { GUEST_PREVIEW_PORT } from './previews-protocol.ts';
import type { GuestSettingsInput } from './settings-protocol.ts';

/** The guest's port in its pod. */
export const GUEST_PORT = 2790;

/**
 * The guest's folder in every container, whatever its image. Short: paths of the loader and its
 * libraries in it replace the loader's path in Node, 27 bytes on arm64.
 */
export const GUEST_FOLDER = '/porthole';

/** Mount point of the pod's volume for the output of processes. */
export const GUEST_STATE = '/run/porthole-guest';

/**
 * Without the inspector, which a command could open with a signal; few threads, and a young
 * generation that stays small.
 */
const NODE = [`${GUEST_FOLDER}/node`, '--disable-sigusr1', '--v8-pool-size=1', '--max-semi-space-size=1'];

/** Starts the guest in a container; its settings follow. */
export const GUEST_COMMAND = [...NODE, `${GUEST_FOLDER}/guest.js`];

/** Set to empty for the guest: an image's values would change how its Node and its loader run. */
const NEUTRALIZED = ['NODE_OPTIONS', 'LD_PRELOAD'] as const;

const POD_UID = 'PORTHOLE_POD_UID';

/** Request header with the sandbox's id: a pod that waits in a warm pool does not know it yet. */
export const SANDBOX_HEADER = 'porthole-sandbox';

/**
 * Pod settings that run the guest.
 * @param publicKeys of allowed callers, separated by commas
 * @param brokered whether a broker makes the connections of the sandbox
 */
export function guestPod(publicKeys: string, env: Readonly<Record<string, string>>, brokered = false) {
  const settings: GuestSettingsInput = {
    env: { ...env },
    inherit: true,
    state: GUEST_STATE,
    // The kubelet substitutes the UID.
    listen: { port: GUEST_PORT, key: publicKeys, audience: `$(${POD_UID})` },
    previews: { port: GUEST_PREVIEW_PORT },
    ...(brokered && { network: true }),
    pty: GUEST_FOLDER,
  };
  return {
    command: [...GUEST_COMMAND, JSON.stringify(settings)],
    env: [
      { name: POD_UID, valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
      ...NEUTRALIZED.map((name) => ({ name, value: '' })),
    ],
  };
}

/** Mount point, in the init container of the guest's image, of the volume that it fills. */
const INSTALLED = '/guest';

/**
 * For images without the guest: an init container of the guest's own image copies its folder into a
 * volume, which the sandbox mounts over the image's folder.
 */
export function guestInstaller() {
  const copy = `require('node:fs').cpSync('${GUEST_FOLDER}', '${INSTALLED}', { recursive: true })`;
  return {
    name: 'install-guest',
    command: [...NODE, '--eval', copy],
    volume: 'porthole',
    target: INSTALLED,
    mountPath: GUEST_FOLDER,
    /** In MiB: several times the folder's size. */
    mebibytes: 512,
  };
}

/** The keys of a pod's guest; undefined if the pod does not run the guest. */
export function guestKeysOf(command: readonly string[] | undefined): string | undefined {
  if (command === undefined || command.at(-2) !== GUEST_COMMAND.at(-1)) return undefined;
  try {
    const { key } = (JSON.parse(command.at(-1) ?? '') as { listen: { key?: unknown } }).listen;
    return typeof key === 'string' ? key : undefined;
  } catch {
    return undefined;
  }
}

/** The part of the guest's own environment in a pod that commands inherit. */
export function inheritedEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  const own = new Set<string>([POD_UID, ...NEUTRALIZED]);
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => !own.has(entry[0]) && entry[1] !== undefined,
    ),
  );
}

/** How long a token is valid, in seconds. */
const LIFETIME_S = 60;

/** Tolerated clock skew between nodes, in seconds. */
const SKEW_S = 30;

/** Keeps tokens for guests apart from other tokens. */
const GUEST_TOKEN = 'porthole-guest+jwt';

/** Characters; our tokens are shorter. */
const MAX_TOKEN = 2_048;

export interface GuestTokenClaims {
  /** The pod's UID: a token for one sandbox is invalid for any other. */
  readonly audience: string;
  /** Method and path, without a query: a token for listing files cannot run a command. */
  readonly operation: string;
}

/** The name of an operation in tokens. */
export function operationOf(method: string, path: string): string {
  return `${method} ${path.replace(/[?#].*$/s, '')}`;
}

/** A JWT (RFC 7519, RFC 8037) for one operation of one guest. */
export function signGuestToken(key: KeyObject, { audience, operation }: GuestTokenClaims, now: Date): string {
  const seconds = Math.floor(now.getTime() / 1_000);
  return signJwt(key, GUEST_TOKEN, { aud: audience, op: operation, iat: seconds, exp: seconds + LIFETIME_S });
}

/**
 * @param type the kind of token, which the verifier checks: tokens of different kinds are not
 * interchangeable
 * @param kid of the key, for readers that have several. @default - none, which `readJwt` requires
 */
export function signJwt(key: KeyObject, type: string, payload: object, kid?: string): string {
  const parts = [{ alg: 'EdDSA', typ: type, kid }, payload];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`;
}

/** Returns the claims of a token of that kind with a valid signature. */
export function readJwt(
  token: string,
  type: string,
  keys: readonly KeyObject[],
): Readonly<Record<string, unknown>> | undefined {
  const [header = '', payload = '', signature = '', ...more] = token.split('.');
  if (token.length > MAX_TOKEN || more.length > 0) return undefined;
  if (Buffer.from(header, 'base64url').toString() !== JSON.stringify({ alg: 'EdDSA', typ: type })) {
    return undefined;
  }
  const signed = Buffer.from(`${header}.${payload}`);
  const bytes = Buffer.from(signature, 'base64url');
  if (!keys.some((key) => verify(null, signed, key, bytes))) return undefined;
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
}

/** Whether the token, signed by one of these keys, is valid for this operation now. */
export function verifyGuestToken(
  token: string,
  keys: readonly KeyObject[],
  { audience, operation }: GuestTokenClaims,
  now: Date,
): boolean {
  const claims = readJwt(token, GUEST_TOKEN, keys);
  if (claims === undefined) return false;
  const seconds = now.getTime() / 1_000;
  return (
    claims['aud'] === audience &&
    claims['op'] === operation &&
    typeof claims['iat'] === 'number' &&
    typeof claims['exp'] === 'number' &&
    claims['iat'] - SKEW_S <= seconds &&
    seconds < claims['exp'] + SKEW_S
  );
}

/** A public key in the configuration's format: the 32 bytes of an Ed25519 key, in base64url. */
export function publicKeyText(key: KeyObject): string {
  return createPublicKey(key).export({ format: 'jwk' }).x as string;
}

/** The reverse. @throws Error if it is not a key */
export function readPublicKey(text: string): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: text }, format: 'jwk' });
}

/** Signs the functions' requests to guests. */
export interface GuestKeys {
  /** For the configuration of pods, the current one first, separated by commas. */
  readonly publicKeys: string;
  /**
   * A token for one operation of one guest. @returns undefined if the guest knows none of these
   * keys
   */
  sign(publicKeys: string, claims: GuestTokenClaims): string | undefined;
}
