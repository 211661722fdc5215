import { z } from 'zod';
import { openapiDocument, TAGS } from '#handlers/ops/openapi-document.ts';
import type { Route } from '#handlers/route.ts';
import { ROUTES } from '#handlers/features.ts';
import { code, pageOf, tableOf } from './markdown.ts';

const Schema = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  default: z.unknown().optional(),
  description: z.string().optional(),
  required: z.array(z.string()).optional(),
  get properties() {
    return z.record(z.string(), Schema).optional();
  },
  get items() {
    return z.union([Schema, z.boolean()]).optional();
  },
  get anyOf() {
    return z.array(Schema).optional();
  },
});
type Schema = z.infer<typeof Schema>;

const Operation = z.looseObject({
  summary: z.string(),
  description: z.string().optional(),
  parameters: z
    .array(z.object({ name: z.string(), in: z.string(), required: z.boolean(), schema: Schema }))
    .optional(),
  requestBody: z.object({ content: z.record(z.string(), z.object({ schema: Schema })) }).optional(),
});

const Document = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.looseObject({ schemas: z.record(z.string(), Schema) }),
});

/** Every call of the HTTP API, from its OpenAPI document and its routes. */
export function apiPage(): string {
  const { paths, components } = Document.parse(openapiDocument(ROUTES, { secured: true }));
  const shown = ROUTES.filter(({ page }) => page !== true);
  const sections = Object.entries(TAGS).flatMap(([tag, about]) => {
    const routes = shown.filter((route) => route.tag === tag);
    if (routes.length === 0) return [];
    return [
      `## ${tag}`,
      `${about}.`,
      ...routes.flatMap((route) => {
        const operation = paths[route.path]?.[route.method.toLowerCase()];
        return operation === undefined ? [] : routeSection(route, operation, components.schemas);
      }),
    ];
  });
  return pageOf(
    '# The HTTP API',
    'Each installation serves this reference with examples at `/v1/openapi`, and as an OpenAPI document at `/v1/openapi.json`. Calls marked *bridge* are those of Cloudflare’s sandbox bridge ([differences](bridge.md)). [Errors](errors.md) lists all error codes.',
    'Send your key as `Authorization: Bearer`. *People* are users with a key or a sign-in. Admins may make every call that people may make.',
    ...sections,
  );
}

function routeSection(
  route: Route,
  { summary, description = '', parameters = [], requestBody }: z.infer<typeof Operation>,
  schemas: Readonly<Record<string, Schema>>,
): string[] {
  // What is in the path needs no row.
  const rows = parameters
    .filter((each) => each.in !== 'path')
    .map(({ name, in: where, required, schema }) => fieldRow(name, where, required, schema));
  const body = bodySchema(requestBody, schemas);
  for (const [name, schema] of Object.entries(body?.properties ?? {})) {
    rows.push(fieldRow(name, 'body', body?.required?.includes(name) === true, schema));
  }
  const errors = (route.errors ?? []).map(code).join(', ');
  return [
    `### ${code(`${route.method} ${route.path}`)}`,
    `${summary}${route.bridge === true ? ' (bridge)' : ''}. ${description}`.trim(),
    `Who: ${whoMay(route)}.${errors === '' ? '' : ` Errors: ${errors}.`}`,
    rows.length === 0 ? '' : tableOf(['field', 'in', 'type', 'meaning'], rows),
  ];
}

function bodySchema(
  requestBody: z.infer<typeof Operation>['requestBody'],
  schemas: Readonly<Record<string, Schema>>,
): Schema | undefined {
  const [content] = Object.values(requestBody?.content ?? {});
  const name = content?.schema.$ref?.split('/').at(-1);
  return name === undefined ? content?.schema : schemas[name];
}

function fieldRow(name: string, where: string, isRequired: boolean, schema: Schema): string[] {
  const { description = '', default: byDefault } = schema;
  const ending = byDefault === undefined ? '' : ` Default: ${code(JSON.stringify(byDefault))}`;
  return [
    `${code(name)}${isRequired ? '' : '?'}`,
    where,
    typeOf(schema),
    `${description}${ending === '' || /[.!?]$|^$/.test(description) ? '' : '.'}${ending}`.trim(),
  ];
}

function typeOf({ $ref, type, enum: values, const: value, items, anyOf }: Schema): string {
  if ($ref !== undefined) return $ref.split('/').at(-1) ?? '';
  if (values !== undefined) return values.map((each) => code(String(each))).join(', ');
  if (value !== undefined) return code(JSON.stringify(value));
  if (anyOf !== undefined) return [...new Set(anyOf.map(typeOf))].join(' or ');
  if (type === 'array' && typeof items === 'object') return `list of ${typeOf(items)}`;
  return [type ?? 'any'].flat().join(' or ');
}

/** Whom the route admits, from the fields by which it does so. */
function whoMay({ access, path, agents, shared, delegates }: Route): string {
  if (access === 'anyone') return 'anyone, without a credential';
  const isOfOne = /^\/(?:api\/runs|v1\/sandbox)\/\{id\}/.test(path);
  const others = [
    ...(access === 'local' ? ['anyone on the machine itself'] : []),
    ...(agents === true ? ['the agent of the run'] : []),
    ...Object.values(shared ?? {}).map((needs) => `people with whom the run is shared (${code(needs)})`),
    ...(delegates === undefined ? [] : [`delegates with ${code(delegates.scope)}`]),
  ];
  return new Intl.ListFormat('en-GB').format([isOfOne ? 'the owner' : 'people', ...others]);
}
