import { z } from 'zod';
import { ERROR_CATALOGUE, type ErrorCode } from '#base/errors.ts';
import { ALIAS, type FormBody, type ResponseDoc, type Route, VERSION } from '../route.ts';

type Json = { [key: string]: unknown };

export const TAGS: Readonly<Record<string, string>> = {
  Approvals: 'Requests of agents that a person decides on, and policies that approve them',
  Audit: 'What happened, as a chain of hashes that can be verified',
  'Bridge 1.0': 'What clients of release 1.0 of the sandbox bridge call',
  Checkpoints: 'What a sandbox can go back to, and forks of it',
  Code: 'Code in contexts that keep its variables',
  Console: 'Pages and files of the console',
  Delegations: 'Access of a program to one sandbox, limited in scope and time',
  Docs: 'This document and its pages',
  E2B: 'What the SDKs of E2B call',
  Editor: 'Tools of the editor: drafts, versions and runs',
  Images: 'Images of sandboxes, and builds of them',
  Inbox: 'Comments of people on the pages of a run',
  Keys: 'API keys that people create for programs',
  MCP: 'The Model Context Protocol',
  Operation: 'Health, metrics and sign-in',
  Pool: 'The warm pool of sandboxes',
  Ports: 'Ports that listen in a sandbox',
  Previews: 'Live HTTPS previews of the servers in a sandbox',
  Processes: 'Commands and processes in a sandbox',
  Runs: 'Runs: a sandbox, its previews and their timeline',
  Sandboxes: 'Sandboxes, their files and workspaces',
  Servers: 'Declared servers, which start again after a crash',
  Sessions: 'Sessions of commands, with a working directory and variables',
  Skills: 'Skills that new sandboxes get',
  Usage: 'What sandboxes have used',
  Webhooks: 'What happens, posted to other programs',
};

/** Errors of all routes. */
const SHARED_ERRORS: readonly ErrorCode[] = [
  'origin_not_allowed',
  'unknown_host',
  'invalid_request',
  'internal_error',
];
/** Errors of authentication and of the limits of a caller. */
const CALLER_ERRORS: readonly ErrorCode[] = ['unauthorized', 'too_many_requests', 'forbidden'];
/** Errors of reading a body. */
const BODY_ERRORS: readonly ErrorCode[] = ['request_timeout', 'payload_too_large', 'unsupported_media_type'];

const ErrorSchema: Json = {
  type: 'object',
  required: ['error', 'code', 'retryable'],
  properties: {
    error: { type: 'string', description: 'What is wrong, the value, and the remedy' },
    code: { type: 'string', enum: Object.keys(ERROR_CATALOGUE) },
    retryable: { type: 'boolean', description: 'Whether the same call may succeed later' },
    remedy: {
      type: 'string',
      description: 'What to do next, if the error knows; not from the operations of the bridge',
    },
    existing: { type: 'array', items: { type: 'string' }, description: 'What exists instead, in some 404' },
    request_id: { type: 'string', description: 'Under which the log has the cause (5xx only)' },
  },
};

/**
 * The OpenAPI 3.1 document of the routes, generated from the schemas that validate the requests.
 */
export function openapiDocument(routes: readonly Route[], { secured }: { readonly secured: boolean }): Json {
  const components: Record<string, Json> = { Error: ErrorSchema };
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const operations = (paths[route.path] ??= {});
    operations[route.method.toLowerCase()] = operation(route, components);
  }
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Porthole',
      version: VERSION,
      description:
        'Live previews of servers that agents start in sandboxes, and one API for the sandboxes behind them.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The host that serves this document' }],
    security: secured ? [{ BearerAuth: [] }] : [],
    tags: tagsOf(routes),
    paths,
    components: {
      schemas: components,
      securitySchemes: { BearerAuth: { type: 'http', scheme: 'bearer' } },
    },
  };
  // Definitions of a schema are components here.
  const text = JSON.stringify(document).replaceAll('"#/$defs/', '"#/components/schemas/');
  return JSON.parse(text, (_key, value: unknown) => withSeparateTypes(value)) as Json;
}

/** What the tags cover, as `TAGS` has it, for those that a route has. */
function tagsOf(routes: readonly Route[]): Json[] {
  const used = new Set(routes.map(({ tag }) => tag));
  return Object.entries(TAGS)
    .filter(([name]) => used.has(name))
    .map(([name, description]) => ({ name, description }));
}

function operation(route: Route, components: Record<string, Json>): Json {
  return {
    operationId: route.id,
    'x-porthole-addition': route.bridge === true ? undefined : true,
    tags: [route.tag],
    summary: route.summary,
    description: route.description,
    security: route.access === 'anyone' ? [] : undefined,
    parameters: parameters(route, components),
    requestBody: requestBody(route, components),
    responses: { ...successes(route.responses, components), ...failures(route) },
  };
}

const SESSION_HEADER = {
  name: 'Session-Id',
  in: 'header',
  required: false,
  schema: {
    type: 'string',
    pattern: '^[a-zA-Z0-9._-]{1,128}$',
    description: 'The session that the request belongs to',
  },
};

const DRAFT_LOCK_HEADER = {
  name: 'Draft-Lock-Token',
  in: 'header',
  required: true,
  schema: {
    type: 'string',
    pattern: '^dlk_[a-z2-7]{26}$',
    description: "The token of the lock on the tool's draft",
  },
};

const idHeader = (name: string) => ({
  name,
  in: 'header',
  required: true,
  schema: { type: 'string', description: 'The id of the sandbox' },
});

function parameters(route: Route, components: Record<string, Json>): Json[] | undefined {
  const list = [
    ...fields('path', route.params, components).filter(({ name }) =>
      route.path.includes(`{${String(name)}}`),
    ),
    ...(route.idHeader === undefined ? [] : [idHeader(route.idHeader)]),
    ...fields('query', route.query, components),
    ...(route.session === true ? [SESSION_HEADER] : []),
    ...(route.draftLock === true ? [DRAFT_LOCK_HEADER] : []),
  ];
  return list.length === 0 ? undefined : list;
}

function fields(where: 'path' | 'query', schema: Route['query'], components: Record<string, Json>): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = toSchema(schema, 'input', components) as JsonObjectSchema;
  return Object.entries(properties).map(([name, value]) => {
    return { name, in: where, required: where === 'path' || required.includes(name), schema: value };
  });
}

function requestBody({ body }: Route, components: Record<string, Json>): Json | undefined {
  if (body === undefined) return undefined;
  const content = (type: string, schema: Json, required = true): Json => ({
    required,
    content: { [type]: { schema } },
  });
  if (body === 'stream') return content('application/octet-stream', BINARY);
  if ('form' in body) return content('multipart/form-data', formSchema(body));
  return content('application/json', toSchema(body, 'input', components), !body.safeParse({}).success);
}

function formSchema({ form }: FormBody): Json {
  const parts = Object.entries(form);
  const required = parts.filter(([, part]) => part.required === true).map(([name]) => name);
  const properties = parts.map(([name, { description, file, many, example }]) => {
    const one = file === true ? BINARY : TEXT;
    return [name, { ...(many === true ? { type: 'array', items: one } : one), description, example }];
  });
  return {
    type: 'object',
    required: required.length === 0 ? undefined : required,
    properties: Object.fromEntries(properties) as Json,
  };
}

const TEXT = { type: 'string' };
const BINARY = { type: 'string', format: 'binary' };

function isText(type: string): boolean {
  return type.startsWith('text/') || type.endsWith('ndjson');
}

function successes(responses: Readonly<Record<number, ResponseDoc>>, components: Record<string, Json>): Json {
  return Object.fromEntries(
    Object.entries(responses).map(([status, { description, schema, contentType = [] }]) => {
      const content = [contentType]
        .flat()
        .map((type): [string, Json] => [type, { schema: isText(type) ? TEXT : BINARY }]);
      if (schema !== undefined)
        content.push(['application/json', { schema: toSchema(schema, 'output', components) }]);
      return [
        status,
        { description, content: content.length === 0 ? undefined : Object.fromEntries(content) },
      ];
    }),
  );
}

function failures(route: Route): Json {
  const codes = new Set([
    ...(route.access === 'anyone' ? [] : CALLER_ERRORS),
    ...SHARED_ERRORS,
    ...((route.access ?? 'caller') === 'caller' ? (['service_unavailable', 'disk_full'] as const) : []),
    ...(route.body === undefined ? [] : BODY_ERRORS),
    ...(route.errors ?? []),
    ...(route.streams === true ? (['not_streamable'] as const) : []),
  ]);
  const byStatus = Map.groupBy(codes, (code) => ERROR_CATALOGUE[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, of]) => {
      const [code] = of as [ErrorCode];
      const { retryable } = ERROR_CATALOGUE[code];
      const example = { error: 'What is wrong, the value, and the remedy.', code, retryable };
      const schema = { $ref: '#/components/schemas/Error' };
      return [
        status,
        {
          description: of.map((each) => `\`${each}\``).join(', '),
          content: { 'application/json': { schema, example } },
        },
      ];
    }),
  );
}

/** JSON Schema of a zod schema; schemas with an id move into the components. */
function toSchema(schema: z.ZodType, io: 'input' | 'output', components: Record<string, Json>): Json {
  const {
    $schema: _,
    $defs,
    ...own
  } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => simplify(jsonSchema),
  });
  for (const [id, { id: _id, ...definition }] of Object.entries($defs ?? {})) components[id] = definition;
  const { id, ...rest } = own;
  // A schema among its own definitions was moved already; only a reference is left.
  if (id === undefined || own['$ref'] !== undefined) return own;
  components[id] = rest;
  return { $ref: `#/components/schemas/${id}` };
}

interface JsonObjectSchema extends Json {
  properties?: Record<string, Json>;
  required?: string[];
}

/** Removes what the format or JavaScript's numbers imply, and other spellings of a property. */
function simplify(schema: Json): void {
  const { properties = {}, required } = schema as JsonObjectSchema;
  if (schema['format'] === 'date-time' || schema['format'] === 'date') delete schema['pattern'];
  for (const [bound, limit] of LIMITS) if (schema[bound] === limit) delete schema[bound];
  for (const [name, property] of Object.entries(properties)) {
    if (property[ALIAS] === true) delete properties[name];
  }
  if (required !== undefined) schema['required'] = required.filter((name) => name in properties);
}

const LIMITS = [
  ['minimum', Number.MIN_SAFE_INTEGER],
  ['maximum', Number.MAX_SAFE_INTEGER],
  ['exclusiveMinimum', Number.MIN_SAFE_INTEGER],
] as const;

/** Generators of clients know no list of several types besides `null`. */
function withSeparateTypes(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('type' in value)) return value;
  const { type, ...rest } = value;
  if (!Array.isArray(type) || type.filter((each) => each !== 'null').length < 2) return value;
  return { ...rest, anyOf: type.map((each: unknown) => ({ type: each })) };
}
