import type { z } from 'zod';
import { closestName } from '../../base/closest-name.ts';
import { contradictions } from './contradictions.ts';
import { type Environment, EnvironmentSchema } from './environment-schema.ts';

/** An invalid configuration: every problem, one line each. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n${problems.map((line) => `  - ${line}`).join('\n')}`,
    );
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * @param others problems that the caller found
 * @throws ConfigError naming every problem at once
 */
export function readEnvironment(environment: Variables, others: readonly string[] = []): Environment {
  const { read, problems } = validate(environment);
  problems.push(...others);
  if (problems.length > 0) throw new ConfigError(problems);
  return read as Environment;
}

/** Problems with which the functions do not start, one line each; shows no secret. */
export function environmentProblems(environment: Variables): readonly string[] {
  return validate(environment).problems;
}

function validate(environment: Variables) {
  const problems = unknownNames(environment);
  const read: Record<string, unknown> = {};
  // One by one, so that one invalid variable does not hide contradictions between the others.
  for (const [name, schema] of Object.entries(EnvironmentSchema.shape)) {
    const { success, data, error } = schema.safeParse(environment[name]);
    if (success) read[name] = data;
    else problems.push(...error.issues.map((issue) => problemOf(name, issue)));
  }
  problems.push(...contradictions(read, environment));
  return { read, problems };
}

/** Problems of one variable's text, one line each; lines never contain the value. */
export function variableFaults(name: keyof Environment, value: string): string[] {
  const { error } = EnvironmentSchema.shape[name].safeParse(value);
  return (error?.issues ?? []).map((issue) => problemOf(name, issue));
}

function problemOf(name: string, issue: z.core.$ZodIssue): string {
  return `${place(name, issue.path)}: ${messageOf(issue)}`;
}

/** zod wraps the problem of a record's key in a generic message. */
export function messageOf(issue: z.core.$ZodIssue): string {
  return issue.code === 'invalid_key' ? issue.issues.map(({ message }) => message).join(', ') : issue.message;
}

/** The location of a problem; never the invalid key itself. */
function place(name: string, path: readonly PropertyKey[]): string {
  const inner = name === 'PORTHOLE_API_KEYS' && path.length > 0 ? ['(a key)', ...path.slice(1)] : path;
  return [name, ...inner.map(String)].join(' ▸ ');
}

/**
 * Unknown variables with our prefixes: most likely typing errors, which would otherwise be silent.
 */
function unknownNames(environment: Variables): string[] {
  const known = Object.keys(EnvironmentSchema.shape);
  return Object.keys(environment)
    .filter(
      (name) =>
        /^(PORTHOLE_|SANDBOX_PREVIEW_|WARM_POOL_|SNAPSHOT_|Sandbox__)/i.test(name) &&
        !known.includes(name) &&
        !ELSEWHERE.has(name),
    )
    .map((name) => {
      const close = closestName(name, known);
      return `${name}: not a setting of Porthole${close === undefined ? ' (npm run config lists them)' : `; did you mean ${close}?`}`;
    });
}

/** Ours, but read by other programs than the host: the tests' tools, and clients. */
const ELSEWHERE = new Set([
  'PORTHOLE_URL',
  'PORTHOLE_TOKEN',
  'PORTHOLE_CACHE_DIR',
  'PORTHOLE_CLUSTER_NUMBER',
  'PORTHOLE_CLUSTER_DIR',
  'PORTHOLE_AGENT_SANDBOX_CRDS',
  'PORTHOLE_TEST_SINCE',
  'PORTHOLE_TEST_TRIES',
]);
