import { randomBytes } from 'node:crypto';
import { PortholeError } from '#base/errors.ts';
import { environmentProblem } from '../sandboxes/sandbox-environment.ts';
import type { NetworkAccess } from './network.ts';
import { readHost } from './network-host.ts';
import { decideNetwork, type Destination, type NetworkPolicy, type NetworkRule } from './network-policy.ts';
import { HTTPS_PORT, type NetworkSecret, type SandboxSecrets } from './network-secrets.ts';

/** An entry of `secrets` in a request. */
export interface SecretInput {
  readonly name: string;
  readonly host: string;
  readonly inject: NetworkSecret['inject'];
  readonly methods?: readonly string[] | undefined;
  /** May be left out for a secret that exists with the same host. */
  readonly value?: string | undefined;
}

const MAX_VALUE_CHARS = 4_096;

/** Fixed length: no placeholder is a substring of another one. */
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
  network: Pick<NetworkAccess, 'isBrokered' | 'presets' | 'createAuthority'>,
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
  if (!(await network.isBrokered())) {
    throw new PortholeError(
      'network_not_supported',
      'secrets: nothing can insert them into the connections of this sandbox.',
      { remedy: 'Pass them with env, or use an installation with a broker.' },
    );
  }
  // Loaded on demand: it contains the list of public suffixes.
  const { readRule } = await import('./network-rule.ts');
  const read = inputs.map((input, index) => {
    const isRepeated = inputs.findIndex(({ name }) => name === input.name) !== index;
    if (isRepeated) return `${input.name}: listed twice`;
    if (input.name in sandbox.env) return `${input.name}: a variable of env has that name`;
    const known = before.list.find(({ name }) => name === input.name);
    return readSecret(input, readRule(input.host, 'allow'), known, ({ host, port }) => {
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
  rule: NetworkRule | string,
  known: NetworkSecret | undefined,
  isAllowed: (at: { readonly host: string; readonly port: number }) => boolean,
): NetworkSecret | string {
  const problem = environmentProblem({ [name]: '' });
  if (problem !== undefined) return problem;
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
  if (value.length > MAX_VALUE_CHARS || !/^[!-~](?:[ -~]*[!-~])?$/.test(value)) {
    return `${name}: a value is 1 to ${MAX_VALUE_CHARS} visible ASCII characters, with spaces only inside`;
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
