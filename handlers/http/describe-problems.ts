import { z } from 'zod';
import { closestName } from '#base/closest-name.ts';

/** Secret fields: an error never repeats their values, or any value below `env`. */
const SECRET = /^env\.|token|secret|key|credential|password|authorization/i;

const NOTHING = ', got nothing';
const AN_ARRAY = ', got an array';
const AN_OBJECT = ', got an object';

/** zod's own message for a size that is out of its limits. */
const LIMIT = /^Too (?:small|big): expected \S+ to (have|be) ([<>]=?)(-?[\d.]+)( \w+)?$/;
const RELATIONS: Readonly<Record<string, string>> = {
  '>=': 'at least',
  '<=': 'at most',
  '>': 'more than',
  '<': 'less than',
};

/** One sentence per field, for its first problem: field, expected, received. */
export function describeProblems(
  error: z.ZodError,
  input: unknown,
  where: string,
  schema: z.core.$ZodType,
): string {
  const first = new Map<string, z.core.$ZodIssue>();
  for (const issue of error.issues) {
    const field = JSON.stringify([issue.code === 'unrecognized_keys', ...issue.path.map(String)]);
    if (!first.has(field)) first.set(field, issue);
  }
  return [...first.values()].map((issue) => describe(issue, input, where, schema)).join(' ');
}

/**
 * The names of an object's fields, those of nested objects by `path`; empty if the schema is not an
 * object.
 */
export function fieldsOf(schema: z.core.$ZodType | undefined, path: readonly PropertyKey[] = []): string[] {
  let at = schema;
  for (;;) {
    if (at instanceof z.ZodObject) {
      const [first, ...rest] = path;
      if (first === undefined) return Object.keys(at.shape);
      return fieldsOf(at.shape[String(first)] as z.core.$ZodType | undefined, rest);
    }
    if (at instanceof z.ZodArray) return fieldsOf(at.element, path.slice(1));
    if (at instanceof z.ZodOptional || at instanceof z.ZodNullable || at instanceof z.ZodDefault)
      at = at.unwrap();
    else if (at instanceof z.ZodPipe) at = at.in;
    else return [];
  }
}

/** The sentence about fields that an object does not have. @param known those that it has */
export function describeUnknown(parent: string, keys: readonly string[], known: readonly string[]): string {
  const names = keys.map((key) => {
    const close = closestName(key, known);
    return `${JSON.stringify(key.slice(0, 60))}${close === undefined ? '' : ` (did you mean ${JSON.stringify(close)}?)`}`;
  });
  return `${parent}: unknown field${names.length > 1 ? 's' : ''} ${names.join(', ')}.`;
}

function describe(issue: z.core.$ZodIssue, input: unknown, where: string, schema: z.core.$ZodType): string {
  if (issue.code === 'unrecognized_keys') {
    const parent = issue.path.length === 0 ? where : issue.path.map(String).join('.');
    return describeUnknown(parent, issue.keys, fieldsOf(schema, issue.path));
  }
  if (issue.code === 'invalid_key') {
    const parent = issue.path.slice(0, -1).map(String).join('.') || where;
    const key = JSON.stringify(String(issue.path.at(-1)).slice(0, 100));
    return `${parent}: ${issue.issues.map(({ message }) => message).join(', ')}, got ${key}.`;
  }
  const name = issue.path.length === 0 ? where : issue.path.map(String).join('.');
  const found = valueAt(input, issue.path);
  const isSecret = name !== where && SECRET.test(name) && found !== NOTHING;
  // The message of a check says what is wrong with an object.
  const got =
    isSecret || (issue.code === 'custom' && (found === AN_ARRAY || found === AN_OBJECT)) ? '' : found;
  // Replaces the received type in zod's message by the value.
  const message = issue.message
    .replace(
      /^Invalid option: .*$/s,
      `must be one of ${issue.code === 'invalid_value' ? issue.values.join(', ') : ''}`,
    )
    .replace(/^Invalid input: (expected [^,]+), received .*$/, '$1')
    .replace(LIMIT, (_, verb: string, relation: string, limit: string, unit = '') => {
      return `must ${verb} ${RELATIONS[relation]} ${limit}${limit === '1' ? unit.replace(/s$/, '') : unit}`;
    })
    .replace(/\.$/, '');
  // The bridge's message, which its clients match.
  if (message.startsWith(`${name} `)) return message;
  if (got === NOTHING && message.startsWith('must ')) return `${name} is missing: it ${message}.`;
  if (got === NOTHING && issue.code !== 'custom') return `${name} is missing.`;
  return `${name}: ${message}${got}.`;
}

function valueAt(input: unknown, path: readonly PropertyKey[]): string {
  let value = input;
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return '';
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  if (value === undefined) return NOTHING;
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? AN_ARRAY : AN_OBJECT;
  const text = JSON.stringify(value);
  return `, got ${text.length > 100 ? `${text.slice(0, 100)}…` : text}`;
}
