import { messageOf } from '../protocol/settings/read-environment.ts';
import { z } from 'zod';
import { closestName } from '../base/closest-name.ts';
import { archiveProblems } from './archives.plan.ts';
import { authorities, authorityFile, DATABASE_FOLDER } from './authorities.plan.ts';
import { SANDBOX_SIZE } from '../protocol/settings/sandbox-size.ts';
import { sandboxProblems, sandboxProvider } from './sandbox-provider.plan.ts';
import { isUnknown } from './placeholders.ts';
import { startProblems, variableProblems } from './variables.ts';
import { gatewayProblems, secretNamespaces } from './gateway.plan.ts';
import { guestKeys } from './sandboxes.plan.ts';
import { contains } from '../base/address-range.ts';
import { GUEST_PREVIEW_PORT } from '../protocol/guest/previews-protocol.ts';
import {
  FUNCTIONS_SECRET_KEYS,
  SECRET_KEYS,
  SET_SECRET,
  type StackConfig,
  StackConfigSchema,
} from './stack-config-schema.ts';

/** Of a URL without a port. */
const POSTGRES_PORT = 5_432;

const PROJECT = 'porthole';

/** Invalid settings: every problem, one line each. */
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
 * @param values every key as the engine passes it, `project:key` → text
 * @param isSecret whether the stack file holds that key encrypted
 * @throws StackConfigError naming every problem at once; contains no secret value
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
  const unreadable: string[] = [];
  const settings = Object.entries(own).map(([key, value]): [string, unknown] => {
    if (!isStructured(key)) return [key, value];
    try {
      return [key, JSON.parse(value)];
    } catch {
      unreadable.push(key);
      return [key, undefined];
    }
  });
  return parse(
    Object.fromEntries(settings),
    `${PROJECT}:`,
    [
      ...clearTextSecrets(own, isSecret),
      ...unreadable.map((key) => `${PROJECT}:${key}: must be a structure of keys and values`),
    ],
    (key) => isSecret(`${PROJECT}:${key}`),
  );
}

/**
 * @param settings as a program passes them
 * @param isSecret whether the value of a key must not be shown. @default never
 * @throws StackConfigError naming every problem at once; contains no secret value
 */
export function readSettings(
  settings: unknown,
  isSecret: (key: string) => boolean = () => false,
): StackConfig {
  return parse(settings, '', [], isSecret);
}

function parse(
  settings: unknown,
  prefix: string,
  known: readonly string[],
  isSecret: (key: string) => boolean,
): StackConfig {
  const problems = [...known];
  const { success, data, error } = StackConfigSchema.safeParse(settings);
  if (!success) {
    for (const issue of error.issues) {
      if (issue.code === 'unrecognized_keys') {
        problems.push(...issue.keys.map((key) => unknownKey(prefix, [...issue.path, key])));
      } else {
        const key = issue.path.map(String).join('.');
        // A structure that cannot be parsed already has a line.
        if (known.some((line) => line.startsWith(`${prefix}${key}: must be a structure`))) continue;
        const [group = ''] = issue.path.map(String);
        const isShown =
          ![...SECRET_KEYS, 'environment'].includes(group) &&
          !isSecret(group) &&
          issue.code !== 'invalid_key';
        const value = valueAt(settings, issue.path);
        const got =
          isShown && isShort(value) && !isUnknown(String(value)) ? `, got ${JSON.stringify(value)}` : '';
        problems.push(`${prefix}${key}: ${describe(issue, value)}${got}`);
      }
    }
    const refused = error.issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path],
    );
    const { data: rest } = StackConfigSchema.safeParse(without(settings, refused));
    // A refused key is unset in the rest, so what the rest says of it may be wrong.
    const keys = refused.flatMap((path) => path.findLast((part) => typeof part === 'string') ?? []);
    const names = (line: string) => line.split(/\W+/).some((word) => keys.includes(word));
    if (rest !== undefined) problems.push(...contradictions(rest, prefix).filter((line) => !names(line)));
    throw new StackConfigError(problems);
  }
  problems.push(...contradictions(data, prefix));
  if (problems.length > 0) throw new StackConfigError(problems);
  return Object.freeze({ ...data, preview: { ...data.preview, access: previewAccess(data) } });
}

/**
 * Where people can sign in, previews are open to the owner's organisation alone, unless the stack
 * says otherwise. Only the guest enforces levels.
 */
function previewAccess({ preview, oidc, apiKeys }: StackConfig): StackConfig['preview']['access'] {
  const canSignIn = oidc !== undefined || apiKeys !== undefined;
  return preview.access ?? (canSignIn && preview.upstream === 'guest' ? 'org' : 'link');
}

/** A copy of the settings without the keys at these paths. */
function without(settings: unknown, paths: readonly (readonly PropertyKey[])[]): unknown {
  const copy: unknown = structuredClone(settings);
  for (const path of paths) {
    const last = path.at(-1);
    const parent = path
      .slice(0, -1)
      .reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], copy);
    if (last !== undefined && typeof parent === 'object' && parent !== null) {
      Reflect.deleteProperty(parent, last);
    }
  }
  return copy;
}

/** The engine passes structured values as JSON, whatever their form in the stack file. */
function isStructured(key: string): boolean {
  return ['object', 'record', 'array'].includes(schemaAt([key])?._zod.def.type ?? '');
}

/** The schema of a setting, without its default; undefined below free-form settings. */
function schemaAt(path: readonly PropertyKey[]): z.core.$ZodType | undefined {
  return path.reduce<z.core.$ZodType | undefined>((schema, key) => {
    let at: z.core.$ZodType | undefined;
    if (schema instanceof z.ZodObject) at = schema.shape[String(key)] as z.core.$ZodType | undefined;
    else if (schema instanceof z.ZodRecord) at = schema.valueType;
    else if (schema instanceof z.ZodArray) at = schema.element;
    while (at instanceof z.ZodOptional || at instanceof z.ZodDefault || at instanceof z.ZodPrefault) {
      at = at.unwrap();
    }
    return at;
  }, StackConfigSchema);
}

const NOUNS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'keys and values',
  record: 'keys and values',
};

/** What is wrong with a setting, without its value. */
function describe(issue: z.core.$ZodIssue, value: unknown): string {
  if (isMissing(issue)) return 'is required';
  if (value === null) return 'has no value: set one, or remove the key';
  if (issue.message.startsWith('Invalid option') && issue.code === 'invalid_value')
    return `must be ${issue.values.join(' or ')}`;
  return messageOf(issue).replace(
    /^Invalid input: expected (\w+), received .*$/,
    (_, kind: string) => `must be ${NOUNS[kind] ?? kind}`,
  );
}

function valueAt(settings: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], settings);
}

/** Whether a value helps in a message: no structure, and no text of several lines. */
function isShort(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value) && /^.{0,60}$/.test(String(value));
}

const isMissing = (issue: { code?: string; message: string }): boolean =>
  issue.code === 'invalid_type' && issue.message.endsWith('received undefined');

function clearTextSecrets(
  own: Readonly<Record<string, string>>,
  isSecret: (key: string) => boolean,
): string[] {
  return SECRET_KEYS.filter((key) => own[key] !== undefined && !isSecret(`${PROJECT}:${key}`)).map(
    (key) => `${PROJECT}:${key}: is stored in clear text; ${SET_SECRET} ${PROJECT}:${key}`,
  );
}

function unknownKey(prefix: string, path: readonly PropertyKey[]): string {
  const group = schemaAt(path.slice(0, -1));
  const known = group instanceof z.ZodObject ? Object.keys(group.shape) : [];
  const close = closestName(String(path.at(-1)), known);
  const remedy =
    close === undefined ? 'docs/reference/deploy-settings.md lists them' : `did you mean ${close}?`;
  return `${prefix}${path.map(String).join('.')}: is not a setting; ${remedy}`;
}

/** Conflicts between keys that are each valid. */
function contradictions(config: StackConfig, prefix: string): string[] {
  const { preview, functions, sandboxes, namespaces } = config;
  const problems: string[] = [];
  const problem = (key: string, text: string) => problems.push(`${prefix}${key}: ${text}`);

  for (const [key, value, name, most] of limits(config)) {
    if (value > most) problem(key, `${value} is above ${name} (${most})`);
  }
  for (const [key, value, most, unit] of podSizes(config)) {
    if (value > most) {
      problem(
        key,
        `${value} is above ${most} ${unit}, the most that the pod of a sandbox may have: lower it, or use a template of agent-sandbox`,
      );
    }
  }
  const isReserved = ['default', 'kube-system', 'kube-public', 'kube-node-lease'].includes(
    namespaces.previews,
  );
  if (isReserved || namespaces.previews === config.gateway.podNamespace) {
    const owner = isReserved ? 'Kubernetes and others use' : "the gateway's pods (gateway.podNamespace) use";
    problem(
      'namespaces.previews',
      `${namespaces.previews} is a namespace that ${owner}: name one for sandboxes only, e.g. agentweaver`,
    );
  }
  if (config.oidcClientSecret !== undefined && config.oidc?.clientId === undefined) {
    problem('oidcClientSecret', 'is not used without oidc.clientId: set that, or remove it');
  }
  if (config.browsers !== undefined && functions.featuresOff.includes('pages')) {
    problem('browsers', 'is not used while functions.featuresOff has pages: remove one of the two');
  }
  const { serviceKey, apiKeys = '{}' } = config;
  if (serviceKey !== undefined && !isUnknown(apiKeys) && serviceKey in JSON.parse(apiKeys)) {
    problem('apiKeys', 'a key equals serviceKey, which has admin rights: give that user another one');
  }
  const isGuestPort =
    preview.allowedPortMin <= GUEST_PREVIEW_PORT && GUEST_PREVIEW_PORT <= preview.allowedPortMax;
  if (preview.upstream === 'guest' && isGuestPort) {
    problem(
      'preview.allowedPortMin',
      `port ${GUEST_PREVIEW_PORT} is the guest's, so previews may not expose ${preview.allowedPortMin} to ${preview.allowedPortMax}: begin above it, or set preview.upstream to direct`,
    );
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
  for (const [key, text] of gatewayProblems(config)) problem(key, text);
  const missing = secretNamespaces(config).filter((name) => !namespaces.existing.includes(name));
  if (config.certificates.issuer === undefined && missing.length > 0) {
    problem(
      'certificates.issuer',
      `without an issuer the TLS Secrets exist already, so namespaces.existing must list their namespace, ${missing.join(', ')}`,
    );
  }
  for (const [key, text] of sandboxProblems(sandboxes)) problem(`sandboxes.${key}`, text);
  for (const [key, text] of archiveProblems(config)) problem(key, text);
  for (const [key, text] of brokerProblems(config)) problem(key, text);
  for (const [key, text] of variableProblems(config)) problem(key, text);
  const needGuestKeys = {
    'the guests of templates': Object.keys(sandboxes.templates).length > 0,
    browsers: config.browsers !== undefined,
  };
  for (const [needing, exists] of Object.entries(needGuestKeys)) {
    if (!exists || guestKeys(config) !== undefined || functions.existingSecret === undefined) continue;
    problem(
      'sandboxes.guestKeys',
      `is required for ${needing}, because the signing keys come from an existing Secret: set what \`npm run config -- guest-keys\` prints with PORTHOLE_SIGNING_KEYS`,
    );
  }
  for (const range of sandboxes.egress) {
    const wider = sandboxes.egress.find((other) => other !== range && contains(other, range));
    if (wider !== undefined) problem('sandboxes.egress', `${range} lies within ${wider} already`);
  }
  for (const [key, text] of databaseProblems(config)) problem(key, text);
  for (const [key, text] of secretProblems(config)) problem(key, text);
  // Avoids a second line for a problem that is already reported.
  if (problems.length === 0) for (const [key, text] of startProblems(config)) problem(key, text);
  return problems;
}

/** Pairs of settings of which the first must not be above the second. */
function limits({
  preview,
  functions,
  sandboxes,
}: StackConfig): [key: string, value: number, name: string, most: number][] {
  const { maxTotal } = sandboxes;
  return [
    ['preview.allowedPortMin', preview.allowedPortMin, 'allowedPortMax', preview.allowedPortMax],
    ['preview.maxPerRun', preview.maxPerRun, 'maxTotal', preview.maxTotal],
    [
      'preview.idleTimeoutMinutes',
      preview.idleTimeoutMinutes,
      'maxLifetimeHours, in minutes',
      preview.maxLifetimeHours * 60,
    ],
    ['functions.replicas', functions.replicas, 'maxReplicas', functions.maxReplicas],
    ['sandboxes.warmPoolTarget', sandboxes.warmPoolTarget, 'maxTotal', maxTotal],
    ...Object.entries(sandboxes.warmPools).map(([name, { replicas }]): ReturnType<typeof limits>[number] => [
      `sandboxes.warmPools.${name}.replicas`,
      replicas,
      'sandboxes.maxTotal',
      maxTotal,
    ]),
  ];
}

/** Sizes of the pods that the functions make, and what the admission policies accept at most. */
function podSizes({
  sandboxes,
  environment,
}: StackConfig): [key: string, value: number, most: number, unit: string][] {
  if (sandboxProvider(sandboxes) !== 'kubernetes') return [];
  const { cpuLimitMillis, memoryMebibytes, workspaceMebibytes } = SANDBOX_SIZE;
  const sizes = [
    ['cpu', 'PORTHOLE_SANDBOX_CPUS', cpuLimitMillis / 1_000, 'cores'],
    ['memoryMb', 'PORTHOLE_SANDBOX_MEMORY_MIB', memoryMebibytes, 'MiB'],
    ['diskMb', 'PORTHOLE_SANDBOX_DISK_MIB', workspaceMebibytes, 'MiB'],
  ] as const;
  return sizes.flatMap(
    ([field, variable, most, unit]): ReturnType<typeof podSizes> => [
      [`environment.${variable}`, Number(environment[variable] ?? 0), most, unit],
      ...Object.entries(sandboxes.images).map(([name, image]): ReturnType<typeof podSizes>[number] => [
        `sandboxes.images.${name}.${field}`,
        image[field] ?? 0,
        most,
        unit,
      ]),
    ],
  );
}

/** Missing secrets without which the functions do not start. */
function secretProblems(config: StackConfig): [key: string, problem: string][] {
  const { functions } = config;
  const given = FUNCTIONS_SECRET_KEYS.filter((key) => config[key] !== undefined);
  if (functions.existingSecret !== undefined) {
    return given.map((key) => [
      key,
      'is not used, because functions.existingSecret names a Secret kept by others',
    ]);
  }
  const problems: [string, string][] = [];
  const set = (key: string) => `${SET_SECRET} ${PROJECT}:${key}`;
  if (functions.maxReplicas > 1 && config.databaseUrl === undefined) {
    problems.push([
      'databaseUrl',
      `is required with more than one replica (functions.maxReplicas is ${functions.maxReplicas}); ${set('databaseUrl')}`,
    ]);
  }
  if (config.signingKeys === undefined) {
    problems.push([
      'signingKeys',
      `is required, so that URLs outlive a pod and every replica signs with the same keys; ${set('signingKeys')}`,
    ]);
  }
  if (config.serviceKey === undefined && config.apiKeys === undefined && config.oidc === undefined) {
    problems.push([
      'serviceKey, apiKeys or oidc',
      `one is required, because nothing else would tell callers apart; ${set('serviceKey')}`,
    ]);
  }
  return problems;
}

/** What the functions' pods lack for the database: its certificate, or a port in their policy. */
function databaseProblems(config: StackConfig): [key: string, problem: string][] {
  const { databaseUrl, functions } = config;
  if (databaseUrl === undefined || isUnknown(databaseUrl)) return [];
  const { port, searchParams } = new URL(databaseUrl);
  const problems: [key: string, problem: string][] = [];
  const called = port === '' ? POSTGRES_PORT : Number(port);
  if (!functions.egressPorts.includes(called)) {
    const has = functions.egressPorts.join(', ');
    const problem = `must have the port ${called} of databaseUrl, which the network policy otherwise closes; it has ${has}`;
    problems.push(['functions.egressPorts', problem]);
  }
  const file = searchParams.get('sslrootcert');
  const mounted = authorities(config).map(authorityFile);
  if (file !== null && file.startsWith(`${DATABASE_FOLDER}/`) && !mounted.includes(file)) {
    const remedy =
      functions.databaseCa === undefined
        ? 'set functions.databaseCa to its PEM, or remove sslrootcert if the system trusts the CA'
        : `functions.databaseCa is mounted at ${mounted.at(-1)}`;
    problems.push(['databaseUrl', `sslrootcert names ${file}, which the pods do not have: ${remedy}`]);
  }
  return problems;
}

/** Keys below `broker`, and what is wrong with them. */
function brokerProblems({ broker, functions, databaseUrl }: StackConfig): [key: string, problem: string][] {
  if (broker === undefined || databaseUrl !== undefined || functions.existingSecret !== undefined) return [];
  return [['broker', 'needs databaseUrl: it reads the policies of sandboxes from the same database']];
}
