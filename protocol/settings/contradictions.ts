import { type Environment, ONE_MACHINE_PROVIDERS } from './environment-schema.ts';
import { MIN_KEY_LENGTH, NETWORK_MODES, type NetworkMode } from './shared-values.ts';

export const NEEDS_IMAGE = 'required with the provider kubernetes: the image of sandboxes that ask for none';
export const NEEDS_WARM_POOL =
  'required with the provider agent-sandbox: the SandboxWarmPool of sandboxes that ask for no image';

export const SHORT_KEY = `has fewer than ${MIN_KEY_LENGTH} characters`;

/** Whether the key can be guessed over a network. */
export function isShortKey(key: string | undefined): boolean {
  return key !== undefined && key.length < MIN_KEY_LENGTH;
}

/** Variables that are set together or not at all. */
const PAIRS = [
  ['OIDC_ISSUER', 'OIDC_AUDIENCE'],
  ['PORTHOLE_CHANNEL_PORT', 'PORTHOLE_CHANNEL_URL'],
  ['PORTHOLE_TLS_CERT', 'PORTHOLE_TLS_KEY'],
] as const;

/** Problems between variables that are valid on their own. */
export function contradictions(
  env: Partial<Environment>,
  given: Readonly<Record<string, string | undefined>>,
): string[] {
  const problems: string[] = [];
  // The given value: an invalid key already has its own line.
  const isSecured =
    given['SANDBOX_API_KEY'] !== undefined ||
    given['PORTHOLE_API_KEYS'] !== undefined ||
    given['OIDC_ISSUER'] !== undefined;
  if (!isSecured && env.HOST !== undefined && !isLoopback(env.HOST)) {
    problems.push(
      `HOST: ${env.HOST} is not a loopback address, and nothing is configured to tell callers apart: set SANDBOX_API_KEY (npm run admin-key makes one), PORTHOLE_API_KEYS or OIDC_ISSUER, or listen on 127.0.0.1`,
    );
  }
  if (env.HOST !== undefined && !isLoopback(env.HOST) && isShortKey(env.SANDBOX_API_KEY)) {
    problems.push(
      `SANDBOX_API_KEY: ${SHORT_KEY}, which is too few for HOST ${env.HOST}: set a longer key (npm run admin-key makes one), or listen on 127.0.0.1`,
    );
  }
  for (const [one, other] of PAIRS) {
    if ((given[one] === undefined) !== (given[other] === undefined)) {
      problems.push(`${one} and ${other}: set both or neither`);
    }
  }
  if (given['OIDC_CLIENT_ID'] !== undefined && given['OIDC_ISSUER'] === undefined) {
    problems.push('OIDC_CLIENT_ID: needs OIDC_ISSUER and OIDC_AUDIENCE');
  }
  if (given['PORTHOLE_TLS_CERT'] !== undefined && env.PORTHOLE_PUBLIC_URL?.startsWith('https:') === false) {
    problems.push(
      `PORTHOLE_PUBLIC_URL: ${env.PORTHOLE_PUBLIC_URL} must be an https URL with PORTHOLE_TLS_CERT`,
    );
  }
  if (given['PORTHOLE_TLS_CERT'] !== undefined && given['PORTHOLE_PUBLIC_URL'] === undefined) {
    problems.push(
      'PORTHOLE_TLS_CERT: needs PORTHOLE_PUBLIC_URL, the URL that the certificate is for, e.g. https://porthole.example.com',
    );
  }
  if (given['DATABASE_URL'] !== undefined && given['PORTHOLE_SIGNING_KEYS'] === undefined) {
    problems.push(
      'PORTHOLE_SIGNING_KEYS: required with DATABASE_URL, so that every instance signs with the same keys',
    );
  }
  if (env.PORTHOLE_ARCHIVE_BUCKET !== undefined && archiveCredentials(env) === undefined) {
    problems.push(
      'PORTHOLE_ARCHIVE_BUCKET: needs keys: set PORTHOLE_ARCHIVE_ACCESS_KEY_ID and PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
    );
  }
  const { PORTHOLE_NETWORK_DEFAULT: usual, PORTHOLE_NETWORK_WIDEST: widest } = env;
  if (usual !== undefined && widest !== undefined && rank(usual) > rank(widest)) {
    problems.push(`PORTHOLE_NETWORK_DEFAULT: ${usual} is wider than PORTHOLE_NETWORK_WIDEST (${widest})`);
  }
  if (env.PORTHOLE_PROVIDER === 'kubernetes' && given['PORTHOLE_SANDBOX_IMAGE'] === undefined) {
    problems.push(`PORTHOLE_SANDBOX_IMAGE: ${NEEDS_IMAGE}`);
  }
  if (env.PORTHOLE_PROVIDER === 'agent-sandbox' && given['PORTHOLE_WARM_POOL'] === undefined) {
    problems.push(`PORTHOLE_WARM_POOL: ${NEEDS_WARM_POOL}`);
  }
  problems.push(...zoneProblems(env));
  const { Sandbox__Preview__AllowedPortMin: min, Sandbox__Preview__AllowedPortMax: max } = env;
  if (min !== undefined && max !== undefined && min > max) {
    problems.push(
      `Sandbox__Preview__AllowedPortMin: ${min} is above Sandbox__Preview__AllowedPortMax (${max})`,
    );
  }
  return problems;
}

/** A preview may set cookies for its whole zone, so no zone lies in another. */
function zoneProblems({
  PORTHOLE_PROVIDER: provider,
  PORTHOLE_ZONES: zones = [],
  Sandbox__Preview__ZoneSuffix: zoneSuffix = '',
}: Partial<Environment>): string[] {
  if (zones.length === 0) return [];
  if (provider !== undefined && isOnOneMachine({ provider })) {
    return [`PORTHOLE_ZONES: needs a cluster, and PORTHOLE_PROVIDER is ${provider}: remove one of them`];
  }
  const names = [zoneSuffix, ...zones.map(({ zone }) => zone)];
  const nested = names.flatMap((zone, at) =>
    names
      .filter(
        (other, index) => index !== at && `.${zone}`.endsWith(`.${other}`) && (zone !== other || at < index),
      )
      .map((other) => `PORTHOLE_ZONES: ${zone} lies in ${other}: zones must not contain each other`),
  );
  const orgs = zones.flatMap((zone) => zone.orgs);
  const twice = new Set(orgs.filter((org, at) => orgs.indexOf(org) !== at));
  return [...nested, ...[...twice].map((org) => `PORTHOLE_ZONES: the org ${org} has more than one zone`)];
}

function rank(mode: NetworkMode): number {
  return NETWORK_MODES.indexOf(mode);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

/** The keys of the archive bucket; undefined if none are set. */
export function archiveCredentials(env: Partial<Environment>) {
  return (
    accessKeys(env.PORTHOLE_ARCHIVE_ACCESS_KEY_ID, env.PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY) ??
    accessKeys(env.AWS_ACCESS_KEY_ID, env.AWS_SECRET_ACCESS_KEY)
  );
}

/** Keys of a bucket; undefined if one of the two is not set. */
export function accessKeys(accessKeyId: string | undefined, secretAccessKey: string | undefined) {
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return accessKeyId === '' || secretAccessKey === '' ? undefined : { accessKeyId, secretAccessKey };
}

/**
 * Whether sandboxes and previews are on this process's machine, so that it needs a data folder and
 * manages them.
 */
export function isOnOneMachine({
  provider,
}: {
  readonly provider: Environment['PORTHOLE_PROVIDER'];
}): boolean {
  return ONE_MACHINE_PROVIDERS.some((each) => each === provider);
}
