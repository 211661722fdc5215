/**
 * Secrets that never enter a sandbox: it sees a placeholder, and the broker puts the value into
 * requests to one host. Pure.
 */
import { randomBytes } from 'node:crypto';
import { PortholeError } from '../errors.ts';
import { CERTIFICATE_VARIABLES, NETWORK } from '#guest/protocol/network.ts';
import { environmentProblem } from '../sandboxes/sandbox-environment.ts';
import type { NetworkAccess } from './network.ts';
import { readHost } from './network-host.ts';
import { decideNetwork, type Destination, type NetworkPolicy } from './network-policy.ts';
import { readRule } from './network-rule.ts';

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

/** An entry of `secrets` in a request. */
export interface SecretInput {
  readonly name: string;
  readonly host: string;
  readonly inject: NetworkSecret['inject'];
  readonly methods?: readonly string[] | undefined;
  /** May be left out for a secret that exists with the same host. */
  readonly value?: string | undefined;
}

export const MOST_SECRETS = 200;
const MOST_VALUE = 4_096;
export const HTTPS_PORT = 443;

const PLACEHOLDER = /porthole-secret-[0-9a-f]{32}/g;

/** Fixed length, so that none is part of another. */
function newPlaceholder(): string {
  return `porthole-secret-${randomBytes(16).toString('hex')}`;
}

/**
 * Applies a request's list, which replaces the one before. A secret keeps its placeholder under its
 * name, so that running programs stay valid.
 * @throws PortholeError `invalid_request` with each invalid entry, `network_not_supported` without
 * a broker
 */
export async function requestedSecrets(
  network: Pick<NetworkAccess, 'holdsSecrets' | 'presets' | 'createAuthority'>,
  sandbox: {
    readonly network: NetworkPolicy;
    readonly secrets: SandboxSecrets;
    readonly env: Readonly<Record<string, string>>;
  },
  inputs: readonly SecretInput[] | undefined,
): Promise<SandboxSecrets> {
  const { secrets: before } = sandbox;
  if (inputs === undefined) return before;
  if (inputs.length === 0) return { ...before, list: [] };
  if (!(await network.holdsSecrets())) {
    throw new PortholeError(
      'network_not_supported',
      'secrets: nothing can insert them into the connections of this sandbox. Pass them with env, or use a sandbox of the provider local or docker.',
    );
  }
  const read = inputs.map((input, index) => {
    const isRepeated = inputs.findIndex(({ name }) => name === input.name) !== index;
    if (isRepeated) return `${input.name}: listed twice`;
    if (input.name in sandbox.env) return `${input.name}: a variable of env has that name`;
    const known = before.list.find(({ name }) => name === input.name);
    return readSecret(input, known, ({ host, port }) => {
      const named = readHost(host);
      const destination: Destination | undefined = named && { host: named, port };
      return (
        destination !== undefined &&
        decideNetwork(sandbox.network, network.presets, destination, false).kind === 'allow'
      );
    });
  });
  const problems = read.filter((each) => typeof each === 'string');
  if (problems.length > 0) {
    throw new PortholeError('invalid_request', `secrets: ${problems.slice(0, 10).join('; ')}.`);
  }
  return {
    list: read.filter((each) => typeof each !== 'string'),
    authority: before.authority ?? (await network.createAuthority()),
  };
}

/** @returns the secret, or a message that never contains the value */
function readSecret(
  { name, host: text, inject, methods, value: given }: SecretInput,
  known: NetworkSecret | undefined,
  isAllowed: (at: { readonly host: string; readonly port: number }) => boolean,
): NetworkSecret | string {
  const problem = environmentProblem({ [name]: '' });
  if (problem !== undefined) return problem;
  const rule = readRule(text, 'allow');
  if (typeof rule === 'string') return `${name}: ${rule}`;
  const { host, ports: [port = HTTPS_PORT, ...more] = [] } = rule;
  if (host.startsWith('*.') || more.length > 0) return `${name}: ${text}: name one host, with one port`;
  if (!isAllowed({ host, port })) {
    return `${name}: ${host}:${port} is outside the policy of the sandbox. Add it to allow`;
  }
  const isSame = known?.host === host && known.port === port;
  const value = given ?? (isSame ? known.value : undefined);
  if (value === undefined) {
    return `${name}: value is missing. It may be left out only for a secret that exists with the same host`;
  }
  // Anything else could end a header line (CWE-113).
  if (value.length > MOST_VALUE || !/^[!-~](?:[ -~]*[!-~])?$/.test(value)) {
    return `${name}: a value is 1 to ${MOST_VALUE} visible ASCII characters, with spaces only inside`;
  }
  return {
    name,
    host,
    port,
    inject,
    ...(methods !== undefined &&
      methods.length > 0 && { methods: methods.map((each) => each.toUpperCase()) }),
    value,
    placeholder: known?.placeholder ?? newPlaceholder(),
  };
}

/**
 * The environment of every command of a sandbox. Its own `env` may name another file of
 * authorities.
 */
export function commandEnvironment({
  env,
  secrets: { list },
}: {
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: SandboxSecrets;
}): Readonly<Record<string, string>> {
  if (list.length === 0) return env;
  return {
    ...Object.fromEntries(CERTIFICATE_VARIABLES.map((name) => [name, NETWORK.certificates])),
    ...env,
    ...Object.fromEntries(list.map(({ name, placeholder }) => [name, placeholder])),
  };
}

/** The secrets of a destination. Its TLS is intercepted if there are any. */
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
