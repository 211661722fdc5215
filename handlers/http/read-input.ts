import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import { closestName } from '#base/closest-name.ts';
import { loopTurns } from '#base/loop-turns.ts';
import { type ListFilter, MAX_TOTAL } from '#base/reads.ts';
import type { ResponseDoc, Route } from '../route.ts';
import { admittedOwner, type ChainEvent, type Step } from './admit.ts';
import { describeProblems, describeUnknown, fieldsOf } from './describe-problems.ts';
import type { HttpEvent } from './http-event.ts';
import { limitedStream } from './limited-stream.ts';

/** Default limit of a JSON body: 1 MiB. */
export const MAX_JSON_BYTES = 1_048_576;

/** From so many characters on, a JSON body is parsed in its owner's turn: many may come at once. */
const LARGE_BODY = 16_384;

/**
 * Parses path parameters, query and JSON body by the route's schemas. Runs after authentication, so
 * that strangers cannot cause parsing.
 * @throws PortholeError `invalid_request` naming every invalid field, `unsupported_media_type`,
 * `payload_too_large`
 */
export function readInput(route: Route): Step {
  const known = queryNames(route);
  const schema =
    route.body === undefined || route.body === 'stream' || 'form' in route.body ? undefined : route.body;
  const read = (event: ChainEvent) => ({
    params: optional(route.params, event.pathParameters ?? {}, 'path'),
    query: optional(route.query, queryOf(event, route, known), 'query'),
    body: undefined,
  });
  if (schema === undefined) return { before: ({ event }) => void (event.input = read(event)) };
  const fields = route.bridge === true ? fieldsOf(schema) : undefined;
  return {
    async before({ event }) {
      const input = read(event);
      const raw = await readBody(event, route.jsonBytes ?? MAX_JSON_BYTES);
      const turn = raw.length < LARGE_BODY ? undefined : loopTurns.next(loopOwnerOf(event));
      if (turn !== undefined) await turn;
      const json = parseJson(raw, event.headers, route);
      if (fields !== undefined) checkSpelling(fields, json);
      event.input = { ...input, body: readFields(schema, json, 'body') };
    },
  };
}

/**
 * The bridge takes unknown fields, but not misspelt ones: without its `network` a sandbox would
 * reach more than was meant.
 */
function checkSpelling(known: readonly string[], json: unknown): void {
  if (typeof json !== 'object' || json === null) return;
  for (const name of Object.keys(json)) {
    const close = known.includes(name) ? undefined : closestName(name.slice(0, 80), known);
    if (close === undefined || close in json) continue;
    throw new PortholeError('invalid_request', describeUnknown('body', [name], known));
  }
}

function optional(schema: z.ZodType | undefined, value: unknown, where: 'path' | 'query'): unknown {
  return schema === undefined ? value : readFields(schema, value, where);
}

/** @throws PortholeError `invalid_request` naming every invalid field */
export function readFields<T>(schema: z.ZodType<T>, value: unknown, where: 'path' | 'query' | 'body'): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new PortholeError('invalid_request', describeProblems(result.error, value, where, schema));
}

/**
 * The query parameters of a route; undefined if any is accepted: the bridge ignores unknown ones,
 * and links to pages carry parameters of others.
 */
function queryNames({ query, bridge, page, access, socket }: Route): readonly string[] | undefined {
  if (bridge === true || page === true) return undefined;
  return [
    ...(query === undefined ? [] : fieldsOf(query)),
    ...(access === 'key' ? ['token'] : []),
    ...(socket === true ? ['authorization'] : []),
  ];
}

/**
 * The query as an object.
 * @throws PortholeError `invalid_request` for an unknown or repeated parameter: a misspelt filter
 * would match everything
 */
function queryOf(
  { rawQueryString }: HttpEvent,
  { query, bridge }: Route,
  known: readonly string[] | undefined,
): Record<string, string> {
  if (rawQueryString === '') return {};
  const given = new URLSearchParams(rawQueryString);
  const values = Object.fromEntries(given);
  const unknown = known && Object.keys(values).find((name) => !known.includes(name));
  if (known !== undefined && unknown !== undefined) {
    const close = closestName(unknown, known);
    const remedy =
      close !== undefined
        ? `did you mean ${JSON.stringify(close)}?`
        : known.length > 0
          ? `the parameters are ${known.join(', ')}.`
          : 'this route takes none.';
    throw new PortholeError(
      'invalid_request',
      `query: unknown parameter ${JSON.stringify(unknown.slice(0, 80))}: ${remedy}`,
    );
  }
  const names = Object.keys(values);
  if (given.size > names.length && query !== undefined && bridge !== true) {
    const twice = names.find((name) => given.getAll(name).length > 1) ?? '';
    throw new PortholeError(
      'invalid_request',
      `query: ${JSON.stringify(twice.slice(0, 80))} is repeated: send it once.`,
    );
  }
  return values;
}

function loopOwnerOf({ caller }: ChainEvent): string {
  return caller === undefined ? 'anyone' : admittedOwner(caller);
}

function parseJson(raw: string, headers: HttpEvent['headers'], { bridge, malformedBody }: Route): unknown {
  // An empty body is an empty object, so that missing required fields are named.
  if (raw === '') return {};
  const type = headers['content-type'];
  // The bridge takes JSON under any type; cross-site requests are rejected by Origin anyway.
  if (bridge !== true && (type === undefined || !JSON_TYPE.test(type))) {
    throw unsupportedType('JSON', type, 'send Content-Type: application/json.');
  }
  checkNotCompressed(headers);
  if (bridge !== true) return readJson(raw);
  try {
    return JSON.parse(raw);
  } catch {
    if (malformedBody === 'ignored') return {};
    throw new PortholeError('invalid_request', 'Invalid JSON body');
  }
}

/** @throws PortholeError `invalid_request` */
export function readJson(raw: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(raw);
  } catch (error) {
    throw new PortholeError('invalid_request', `Invalid JSON body${whereInvalid(raw, error as Error)}`);
  }
  // Only an escape can make a lone surrogate: the body is UTF-8.
  const field = /\\ud/i.test(raw) ? illFormedField(value) : undefined;
  if (field === undefined) return value;
  throw new PortholeError(
    'invalid_request',
    `${field.slice(0, 100)}: must be well-formed Unicode, without lone surrogates.`,
  );
}

/** Only the position: V8's message repeats a part of the body. */
function whereInvalid(raw: string, { message }: Error): string {
  if (raw.startsWith('\uFEFF')) return ': it begins with a byte order mark. Send it without one.';
  if (message === 'Unexpected end of JSON input') return ': it ends too early.';
  const [, line, column] = /\(line (\d+) column (\d+)\)$/.exec(message) ?? [];
  return line === undefined ? '' : `, at line ${line}, column ${column}.`;
}

/** A field with a string, or a name, that has a lone surrogate. Not recursive: JSON may be deep. */
function illFormedField(whole: unknown): string | undefined {
  const left: [field: string, value: unknown][] = [['body', whole]];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [field, value] = next;
    if (typeof value === 'string' && !value.isWellFormed()) return field;
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      if (!key.isWellFormed()) return field;
      left.push([field === 'body' ? key : `${field}.${key}`, inner]);
    }
  }
  return undefined;
}

/** A body of another type than the route takes. */
export function unsupportedType(wanted: string, type: string | undefined, remedy: string): PortholeError {
  const shown = type === undefined ? 'missing' : JSON.stringify(type.slice(0, 100));
  return new PortholeError(
    'unsupported_media_type',
    `The body must be ${wanted}, but its Content-Type is ${shown}`,
    { remedy },
  );
}

/** @throws PortholeError `unsupported_media_type` */
export function checkNotCompressed({ 'content-encoding': encoding }: HttpEvent['headers']): void {
  if (encoding === undefined || encoding === 'identity') return;
  throw new PortholeError(
    'unsupported_media_type',
    `The body must not be compressed, but its Content-Encoding is ${JSON.stringify(encoding.slice(0, 100))}`,
    { remedy: 'send it uncompressed.' },
  );
}

/** JSON in UTF-8 (RFC 8259 section 8.1); other parameters are rejected. */
const JSON_TYPE = /^application\/(?:[a-z0-9.+-]+\+)?json\s*(?:;\s*charset=(?:utf-8|"utf-8")\s*)?$/i;

async function readBody(event: HttpEvent, most: number): Promise<string> {
  if (event.bodyStream === undefined) {
    const body = event.body ?? '';
    const text = event.isBase64Encoded === true ? utf8(Buffer.from(body, 'base64')) : body;
    if (Buffer.byteLength(text) > most) throw tooLarge(most);
    return text;
  }
  const announced = event.headers['content-length'];
  if (announced === '0' || (announced === undefined && event.headers['transfer-encoding'] === undefined))
    return '';
  if (Number(announced) > most) throw tooLarge(most);
  return utf8(await readBytes(event.bodyStream(), most));
}

/** @throws PortholeError `payload_too_large`, `invalid_request` for a body that is cut off */
export async function readBytes(stream: Readable, most: number): Promise<Buffer> {
  const body = limitedStream(stream, { bytes: most, tooLarge: () => tooLarge(most), cutOff });
  const pieces: Buffer[] = [];
  // The consumers of node:stream make a Blob, which is read in other turns of the event loop.
  for await (const piece of body as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** @throws PortholeError `invalid_request` */
export function utf8(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  throw new PortholeError('invalid_request', 'The body is not valid UTF-8: JSON must be.');
}

function cutOff(): PortholeError {
  return new PortholeError('invalid_request', 'The request was cut off', { remedy: 'send it again.' });
}

function tooLarge(most: number): PortholeError {
  return new PortholeError('payload_too_large', `The JSON body exceeds the ${most}-byte limit`, {
    remedy: 'send less, or upload it as a file.',
  });
}

const MESSAGE = 'must be a whole number from 1 to 1000';

/** `limit` of every list. */
export const pageLimit = z.coerce
  .number(MESSAGE)
  .int(MESSAGE)
  .min(1, MESSAGE)
  .max(1000, MESSAGE)
  .default(100);

/** A parameter that is `true` or `false`. */
export function queryFlag(usual: 'true' | 'false' = 'false') {
  return z
    .enum(['true', 'false'], 'must be true or false')
    .default(usual)
    .transform((value) => value === 'true');
}

export const PORT_MESSAGE = 'must be an integer between 1 and 65535';

/** A port in JSON. */
export const portNumber = z
  .number(PORT_MESSAGE)
  .int(PORT_MESSAGE)
  .min(1, PORT_MESSAGE)
  .max(65_535, PORT_MESSAGE);

/** A port in a path or a query. */
export const portText = z
  .string()
  .regex(/^\d{1,5}$/, PORT_MESSAGE)
  .transform(Number)
  .refine((port) => port >= 1 && port <= 65_535, PORT_MESSAGE);

/** Filters of the lists of runs and sandboxes. */
export const filterQuery = {
  query: z
    .string()
    .min(1, 'must not be empty')
    .max(200, 'must be at most 200 characters')
    .optional()
    .describe('Text that a name or id contains; the case of A to Z is ignored'),
  owner: z.string().min(1, 'must not be empty').max(256).optional().describe('User name of the owner'),
  image: z
    .string()
    .min(1, 'must not be empty')
    .max(512)
    .optional()
    .describe('Image of the sandbox; `default` for sandboxes that requested none'),
  created_after: z.iso
    .datetime({ offset: true, error: 'must be a time of RFC 3339, such as 2026-03-01T12:00:00Z' })
    .optional()
    .describe('Created at this time or later'),
  created_before: z.iso
    .datetime({ offset: true, error: 'must be a time of RFC 3339, such as 2026-03-01T12:00:00Z' })
    .optional()
    .describe('Created before this time'),
  count: queryFlag().describe('Whether `total` is counted'),
};

/** `total` of a list that can be counted. */
export const totalField = z
  .int()
  .nullable()
  .describe(`How many match, with \`count=true\`; ${MAX_TOTAL}: that many or more. Otherwise null`);

/** The parameters of `filterQuery` and `tag`, as the records take them. */
export function listFilterOf(query: {
  readonly query?: string | undefined;
  readonly owner?: string | undefined;
  readonly image?: string | undefined;
  readonly created_after?: string | undefined;
  readonly created_before?: string | undefined;
  readonly tag?: readonly [string, string] | undefined;
}): ListFilter {
  const { query: text, owner: ownerUser, image, created_after: after, created_before: before, tag } = query;
  return {
    text,
    ownerUser,
    image,
    tags: tag === undefined ? {} : { [tag[0]]: tag[1] },
    createdAfter: after === undefined ? undefined : new Date(after),
    createdBefore: before === undefined ? undefined : new Date(before),
  };
}

/** The cursor of a paginated list. */
export const pageQuery = {
  limit: pageLimit,
  after: z.string().max(500).optional().describe('`next` of the previous page'),
};

/** The response of a paginated list, with its items under `name`. */
export function pageResponse(
  name: string,
  item: z.ZodType,
  id: string,
  more: z.ZodRawShape = {},
): { readonly 200: ResponseDoc } {
  const schema = z.object({ [name]: z.array(item), next: z.string().nullable(), ...more }).meta({ id });
  return { 200: { description: `A page of ${name}; \`next\` is null on the last one`, schema } };
}
