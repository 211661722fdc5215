import { z } from 'zod';
import { ERROR_CATALOGUE, type ErrorCode } from '#base/errors.ts';
import { ALIAS, type FormBody, type ResponseDoc, type Route, VERSION } from '../route.ts';

type Json = { [key: string]: unknown };

export const TAGS: Readonly<Record<string, string>> = {
  Approvals: 'Requests of agents that a person decides on, and policies that approve them',
  Console: 'Pages and files of the console',
  Delegations: 'Access of a program to one sandbox, limited in scope and time',
  Docs: 'This document and its pages',
  Editor: 'Tools of the editor: drafts, versions and runs',
  Images: 'Images of sandboxes, and builds of them',
  Inbox: 'Comments of people on the pages of a run',
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
  return {
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
    ...(route.bridge === true ? {} : { 'x-porthole-addition': true }),
    tags: [route.tag],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    ...(route.access === 'anyone' ? { security: [] } : {}),
    ...parameters(route, components),
    ...requestBody(route, components),
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

function parameters(route: Route, components: Record<string, Json>): Json {
  const list = [
    ...properties(route.params, components).map(([name, schema]) => ({
      name,
      in: 'path',
      required: true,
      schema,
    })),
    ...properties(route.query, components).map(([name, schema, required]) => ({
      name,
      in: 'query',
      required,
      schema,
    })),
  ];
  if (route.session === true) list.push(SESSION_HEADER);
  if (route.draftLock === true) list.push(DRAFT_LOCK_HEADER);
  return list.length === 0 ? {} : { parameters: list };
}

function properties(
  schema: z.ZodType | undefined,
  components: Record<string, Json>,
): [string, Json, boolean][] {
  if (schema === undefined) return [];
  const object = toSchema(schema, 'input', components) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(object.properties ?? {}).map(([name, value]) => [
    name,
    value,
    object.required?.includes(name) ?? false,
  ]);
}

function requestBody(route: Route, components: Record<string, Json>): Json {
  if (route.body === undefined) return {};
  if (route.body === 'stream') {
    return {
      requestBody: {
        required: true,
        content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
      },
    };
  }
  if ('form' in route.body) {
    return {
      requestBody: { required: true, content: { 'multipart/form-data': { schema: formSchema(route.body) } } },
    };
  }
  const schema = toSchema(route.body, 'input', components);
  const required = !route.body.safeParse({}).success;
  return { requestBody: { required, content: { 'application/json': { schema } } } };
}

function formSchema({ form }: FormBody): Json {
  const parts = Object.entries(form);
  const required = parts.filter(([, part]) => part.required === true).map(([name]) => name);
  return {
    type: 'object',
    ...(required.length === 0 ? {} : { required }),
    properties: Object.fromEntries(
      parts.map(([name, { description, file, many, example }]) => {
        const one = file === true ? { type: 'string', format: 'binary' } : { type: 'string' };
        const annotations = example === undefined ? { description } : { description, example };
        return [
          name,
          many === true ? { type: 'array', items: one, ...annotations } : { ...one, ...annotations },
        ];
      }),
    ),
  };
}

const TEXT = { type: 'string' };
const BINARY = { type: 'string', format: 'binary' };

function isText(type: string): boolean {
  return type.startsWith('text/') || type.endsWith('ndjson');
}

function successes(responses: Readonly<Record<number, ResponseDoc>>, components: Record<string, Json>): Json {
  return Object.fromEntries(
    Object.entries(responses).map(([status, { description, schema, contentType }]) => {
      const content = {
        ...Object.fromEntries(
          [contentType ?? []].flat().map((type) => [type, { schema: isText(type) ? TEXT : BINARY }]),
        ),
        ...(schema === undefined
          ? {}
          : { 'application/json': { schema: toSchema(schema, 'output', components) } }),
      };
      return [status, Object.keys(content).length === 0 ? { description } : { description, content }];
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
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = ERROR_CATALOGUE[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, of]) => [
      status,
      {
        description: of.map((code) => `\`${code}\``).join(', '),
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/Error' },
            example: errorExample(of[0] as ErrorCode),
          },
        },
      },
    ]),
  );
}

function errorExample(code: ErrorCode): Json {
  return {
    error: 'What is wrong, the value, and the remedy.',
    code,
    retryable: ERROR_CATALOGUE[code].retryable,
  };
}

/** JSON Schema of a zod schema; schemas with an id move into the components. */
function toSchema(schema: z.ZodType, io: 'input' | 'output', components: Record<string, Json>): Json {
  const {
    $schema: _,
    $defs,
    ...result
  } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => withoutNoise(jsonSchema),
  }) as Json & {
    $defs?: Record<string, Json>;
  };
  const relinked = relink({ ...result, ...($defs === undefined ? {} : { $defs }) }) as Json & {
    $defs?: Record<string, Json>;
  };
  for (const [id, definition] of Object.entries(relinked.$defs ?? {})) components[id] = withoutId(definition);
  const { $defs: _moved, ...own } = relinked;
  const id = z.globalRegistry.get(schema)?.id;
  // A schema among its own definitions was moved already; only a reference is left.
  if (id === undefined || own['$ref'] !== undefined) return own;
  components[id] = withoutId(own);
  return { $ref: `#/components/schemas/${id}` };
}

/** Removes what the format or JavaScript's numbers imply, and noise for readers and examples. */
function withoutNoise(schema: Json): void {
  if (schema['format'] === 'date-time') delete schema['pattern'];
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum'];
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum'];
  if (schema['exclusiveMinimum'] === Number.MIN_SAFE_INTEGER) delete schema['exclusiveMinimum'];
  withoutAliases(schema);
}

/** Other spellings of a property (`ALIAS`) are served and accepted, not documented. */
function withoutAliases(schema: Json): void {
  const properties = schema['properties'] as Record<string, Json> | undefined;
  const required = schema['required'] as string[] | undefined;
  for (const [name, property] of Object.entries(properties ?? {})) {
    if (property[ALIAS] === true) delete properties?.[name];
  }
  if (required !== undefined) schema['required'] = required.filter((name) => name in (properties ?? {}));
}

function withoutId({ id: _id, ...schema }: Json): Json {
  return schema;
}

/** With references to the components, and without lists of types. */
function relink(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(relink);
  if (typeof value !== 'object' || value === null) return value;
  const inner = Object.entries(value).map(([key, each]) =>
    key === '$ref' && typeof each === 'string'
      ? [key, each.replace('#/$defs/', '#/components/schemas/')]
      : [key, relink(each)],
  );
  return separateTypes(Object.fromEntries(inner) as Json);
}

/** Generators of clients know no list of several types besides `null`. */
function separateTypes(schema: Json): Json {
  const { type, ...rest } = schema;
  if (!Array.isArray(type) || type.filter((each) => each !== 'null').length < 2) return schema;
  return { ...rest, anyOf: type.map((each: unknown) => ({ type: each })) };
}
