import { archiveProblems } from '../archives/archives.plan.ts';
import { sandboxProblems } from '../functions/sandbox-provider.plan.ts';
import { guestKeys } from '../sandboxes/sandboxes.plan.ts';
import { contains } from '../../core/rules/address-range.ts';
import { GUEST_PREVIEW_PORT } from '../../guest/protocol/previews.ts';
import {
  FUNCTIONS_SECRET_KEYS,
  SECRET_KEYS,
  type StackConfig,
  StackConfigSchema,
} from './stack-config-schema.ts';

const PROJECT = 'porthole';

/** A stack's configuration that cannot be used: every problem, one line each. */
export class StackConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
    super(`The stack's configuration has ${count}:\n${problems.map((line) => `  - ${line}`).join('\n')}`);
    this.name = 'StackConfigError';
    this.problems = problems;
  }
}

/**
 * @param values every key as the engine hands it over, `project:key` → text
 * @param isSecret whether the stack file holds that key encrypted
 * @throws StackConfigError naming every problem at once; no value of a secret is in it
 */
export function readStackConfig(
  values: Readonly<Record<string, string>>,
  isSecret: (key: string) => boolean,
): StackConfig {
  const own = Object.fromEntries(
    Object.entries(values)
      .filter(([key]) => key.startsWith(`${PROJECT}:`))
      .map(([key, value]) => [key.slice(PROJECT.length + 1), value]),
  );
  const problems = [...clearTextSecrets(own, isSecret)];
  const { success, data, error } = StackConfigSchema.safeParse(own);
  if (!success) {
    for (const issue of error.issues) {
      if (issue.code === 'unrecognized_keys') {
        problems.push(...issue.keys.map((key) => unknownKey([...issue.path, key])));
      } else problems.push(`${name(issue.path)}: ${isMissing(issue) ? 'is required' : issue.message}`);
    }
    throw new StackConfigError(problems);
  }
  problems.push(...contradictions(data));
  if (problems.length > 0) throw new StackConfigError(problems);
  return Object.freeze(data);
}

const name = (path: readonly PropertyKey[]): string => `${PROJECT}:${path.map(String).join('.')}`;

const isMissing = (issue: { code?: string; message: string }): boolean =>
  issue.code === 'invalid_type' && issue.message.endsWith('received undefined');

function clearTextSecrets(
  own: Readonly<Record<string, string>>,
  isSecret: (key: string) => boolean,
): string[] {
  return SECRET_KEYS.filter((key) => own[key] !== undefined && !isSecret(`${PROJECT}:${key}`)).map(
    (key) =>
      `${PROJECT}:${key}: stands in clear text; set it with: pulumi config set --secret ${PROJECT}:${key}`,
  );
}

function unknownKey(path: readonly PropertyKey[]): string {
  const known = Object.keys(StackConfigSchema.shape);
  const key = String(path.at(-1));
  const close = known.find((candidate) => candidate.toLowerCase() === key.toLowerCase());
  const remedy =
    path.length === 1 && close !== undefined ? `did you mean ${close}?` : 'docs/deploy.md lists them';
  return `${name(path)}: is not a setting; ${remedy}`;
}

/** Problems between keys that are each fine alone. */
function contradictions(config: StackConfig): string[] {
  const { preview, functions, sandboxes, namespaces } = config;
  const problems: string[] = [];
  const problem = (key: string, text: string) => problems.push(`${PROJECT}:${key}: ${text}`);

  if (preview.allowedPortMin > preview.allowedPortMax) {
    problem(
      'preview.allowedPortMin',
      `${preview.allowedPortMin} is above allowedPortMax (${preview.allowedPortMax})`,
    );
  }
  const isGuestPort =
    preview.allowedPortMin <= GUEST_PREVIEW_PORT && GUEST_PREVIEW_PORT <= preview.allowedPortMax;
  if (preview.upstream === 'guest' && isGuestPort) {
    problem(
      'preview.allowedPortMin',
      `port ${GUEST_PREVIEW_PORT} is the guest's, so previews may not expose ${preview.allowedPortMin} to ${preview.allowedPortMax}: begin above it, or set preview.upstream to direct`,
    );
  }
  if (functions.replicas > functions.maxReplicas) {
    problem('functions.replicas', `${functions.replicas} is above maxReplicas (${functions.maxReplicas})`);
  }
  if (`.${config.apiHost}`.endsWith(`.${config.zone}`)) {
    problem(
      'apiHost',
      `${config.apiHost} lies in the zone of previews, ${config.zone}, which could set cookies for it: name a host outside`,
    );
  }
  for (const existing of namespaces.existing) {
    if (![namespaces.previews, namespaces.gateway, namespaces.functions].includes(existing)) {
      problem('namespaces.existing', `${existing} is none of the three namespaces`);
    }
  }
  if (config.certificates.issuer === undefined && !namespaces.existing.includes(namespaces.gateway)) {
    problem(
      'certificates.issuer',
      `without an issuer both TLS Secrets stand already, so namespaces.existing must list their namespace, ${namespaces.gateway}`,
    );
  }
  for (const [key, text] of sandboxProblems(sandboxes)) problem(`sandboxes.${key}`, text);
  for (const [key, text] of archiveProblems(config)) problem(key, text);
  if (Object.keys(sandboxes.templates).length > 0) {
    const keys = attempt(() => guestKeys(config));
    const text =
      'is required for the guests of templates, whose signing keys others keep: set what `npm run config -- guest-keys` prints with PORTHOLE_SIGNING_KEYS';
    if (keys === undefined && functions.existingSecret !== undefined) problem('sandboxes.guestKeys', text);
    else if (keys === undefined && config.signingKeys !== undefined) {
      problem('signingKeys', 'must be a JSON Web Key Set of symmetric keys');
    }
  }
  for (const range of sandboxes.egress) {
    const wider = sandboxes.egress.find((other) => other !== range && contains(other, range));
    if (wider !== undefined) problem('sandboxes.egress', `${range} lies within ${wider} already`);
  }
  problems.push(...secretProblems(config));
  return problems;
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** What the functions would refuse to start without. */
function secretProblems(config: StackConfig): string[] {
  const { functions } = config;
  const given = FUNCTIONS_SECRET_KEYS.filter((key) => config[key] !== undefined);
  if (functions.existingSecret !== undefined) {
    return given.map(
      (key) =>
        `${PROJECT}:${key}: is not used, because functions.existingSecret names a Secret kept by others`,
    );
  }
  const problems: string[] = [];
  const set = (key: string) => `set it with: pulumi config set --secret ${PROJECT}:${key}`;
  if (functions.maxReplicas > 1 && config.databaseUrl === undefined) {
    problems.push(
      `${PROJECT}:databaseUrl: is required with more than one replica (functions.maxReplicas is ${functions.maxReplicas}); ${set('databaseUrl')}`,
    );
  }
  if (config.signingKeys === undefined) {
    problems.push(
      `${PROJECT}:signingKeys: is required, so that URLs outlive a pod and every replica signs with the same keys; ${set('signingKeys')}`,
    );
  }
  if (config.serviceKey === undefined && config.apiKeys === undefined && config.oidc === undefined) {
    problems.push(
      `${PROJECT}:serviceKey, apiKeys or oidc: one is required, because nothing else would tell callers apart; ${set('serviceKey')}`,
    );
  }
  return problems;
}
