/**
 * Secrets that never enter a sandbox: it sees a placeholder, and the broker puts the value into
 * requests to one host. Pure.
 */
import { AUTHORITY_VARIABLE, CERTIFICATE_VARIABLES, NETWORK } from '#protocol/guest/network.ts';
import type { Destination } from './network-policy.ts';

/** Where the placeholder is replaced: in any header, in the query, or in Basic credentials. */
export const SECRET_PLACES = ['header', 'query', 'basic'] as const;

export interface NetworkSecret {
  /** Its environment variable in the sandbox, which holds the placeholder. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly inject: (typeof SECRET_PLACES)[number];
  /** @default every method */
  readonly methods?: readonly string[] | undefined;
  readonly value: string;
  readonly placeholder: string;
}

/** PEM. Signs the certificates of intercepted hosts, for one sandbox. */
export interface SandboxAuthority {
  readonly certificate: string;
  readonly key: string;
}

export interface SandboxSecrets {
  readonly list: readonly NetworkSecret[];
  /** Made with the first secret. Kept after the last one: running programs have read it. */
  readonly authority?: SandboxAuthority | undefined;
}

export const NO_SECRETS: SandboxSecrets = { list: [] };

export const MAX_SECRETS = 200;
export const HTTPS_PORT = 443;

const PLACEHOLDER = /porthole-secret-[0-9a-f]{32}/g;

/**
 * The environment of every command of a sandbox. Its own `env` may name another file of
 * authorities.
 */
export function commandEnvironment({
  env,
  secrets: { list, authority },
}: {
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: SandboxSecrets;
}): Readonly<Record<string, string>> {
  if (list.length === 0) return env;
  return {
    ...Object.fromEntries(CERTIFICATE_VARIABLES.map((name) => [name, NETWORK.certificates])),
    ...env,
    ...Object.fromEntries(list.map(({ name, placeholder }) => [name, placeholder])),
    ...(authority !== undefined && { [AUTHORITY_VARIABLE]: authority.certificate }),
  };
}

/** The secrets for a destination. If there are any, its TLS is intercepted. */
export function secretsFor(
  { list }: SandboxSecrets,
  { host, port, http }: Destination,
): readonly NetworkSecret[] {
  if (host.kind !== 'name') return [];
  // Plain HTTP on any port is refused: the program expects its placeholder to be replaced.
  return list.filter((each) => each.host === host.name && (each.port === port || http !== undefined));
}

export interface SecretRequest {
  readonly method: string;
  /** Origin form: path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string[]>>;
}

/**
 * Replaces the placeholders of these secrets, each where its `inject` says. Returns their names.
 */
export function withSecrets(
  { method, target, headers }: SecretRequest,
  secrets: readonly NetworkSecret[],
): Omit<SecretRequest, 'method'> & { readonly used: readonly string[] } {
  const used = new Set<string>();
  const replaced = (
    text: string,
    inject: NetworkSecret['inject'],
    encode: (value: string) => string = (value) => value,
  ): string =>
    text.replace(PLACEHOLDER, (found) => {
      const secret = secrets.find((each) => each.placeholder === found && each.inject === inject);
      if (secret === undefined || secret.methods?.includes(method) === false) return found;
      used.add(secret.name);
      return encode(secret.value);
    });
  const query = target.indexOf('?');
  const result = {
    target:
      query < 0
        ? target
        : target.slice(0, query) + replaced(target.slice(query), 'query', encodeURIComponent),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, values]) => [
        name,
        values.map((value) => {
          const basic = name === 'authorization' ? basicCredentials(value) : undefined;
          if (basic === undefined) return replaced(value, 'header');
          const filled = replaced(basic, 'basic');
          return filled === basic ? value : `Basic ${Buffer.from(filled).toString('base64')}`;
        }),
      ]),
    ),
  };
  return { ...result, used: [...used] };
}

/** RFC 7617: user and password, decoded. */
function basicCredentials(authorization: string): string | undefined {
  const [, encoded] = /^basic +([\w+/-]+=*)$/i.exec(authorization) ?? [];
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString();
}

/** Shorter values would match ordinary words. */
const SHORTEST_REMOVED = 8;

/** Puts the placeholders back, as in a `Location` that repeats the query. */
export function withoutValues(text: string, secrets: readonly NetworkSecret[]): string {
  const removed = secrets.filter(({ value }) => value.length >= SHORTEST_REMOVED);
  return removed.reduce(
    (rest, { value, placeholder }) =>
      [value, encodeURIComponent(value)].reduce((each, form) => each.replaceAll(form, placeholder), rest),
    text,
  );
}
