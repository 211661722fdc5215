/**
 * `npm run console:types`: writes the API's types for the console and the client. The files are not
 * checked in. (`openapi-typescript` needs the compiler's API, which TypeScript 7 does not have.)
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile, type JSONSchema } from 'json-schema-to-typescript';
import { openapiDocument } from '#handlers/ops/openapi-document.ts';
import { ROUTES } from '#handlers/features.ts';

type Json = { readonly [key: string]: unknown };

interface Operation {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: 'path' | 'query' | 'header';
    readonly required?: boolean;
    readonly schema: Json;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Json }>> };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: Json }>> }>
  >;
}

const HEAD =
  '/** Written by `npm run console:types` from the OpenAPI document: what each route takes and returns. */';

const types = await apiTypes();
for (const file of ['console/src/api/api.ts', 'client/api.ts']) {
  const path = join(import.meta.dirname, '..', file);
  // Atomic, because another process may read the file.
  writeFileSync(`${path}.${process.pid}`, types);
  renameSync(`${path}.${process.pid}`, path);
}

/** The types of every route that answers JSON or nothing, by its method and path, as TypeScript. */
async function apiTypes(): Promise<string> {
  const document = openapiDocument(ROUTES, { secured: true }) as unknown as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    readonly components: { readonly schemas: Readonly<Record<string, Json>> };
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [
      `${method.toUpperCase()} ${path}`,
      shape(operation),
    ]),
  );
  const schema = relink({
    ...object(Object.fromEntries(operations) as Record<string, Json>),
    $defs: document.components.schemas,
  }) as JSONSchema;
  return compile(schema, 'Api', {
    bannerComment: HEAD,
    additionalProperties: false,
    format: false,
    unknownAny: true,
  });
}

function shape({ parameters = [], requestBody, responses }: Operation): Json {
  const within = (place: string) => parameters.filter((each) => each.in === place);
  const fields = (place: string) => {
    const own = within(place);
    return object(
      Object.fromEntries(own.map(({ name, schema }) => [name, schema])),
      own.filter(({ required }) => required === true).map(({ name }) => name),
    );
  };
  const body = requestBody?.content['application/json']?.schema;
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];
  return object({
    path: fields('path'),
    query: fields('query'),
    body: body ?? { type: 'null' },
    answer: success?.content?.['application/json']?.schema ?? { type: 'null' },
  });
}

function object(properties: Readonly<Record<string, Json>>, required = Object.keys(properties)): Json {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** Points references to `$defs`. Drops array bounds, which would split one name into two types. */
function relink(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(relink);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, inner]) => !((key === 'maxItems' || key === 'minItems') && typeof inner === 'number'))
      .map(([key, inner]) =>
        key === '$ref' && typeof inner === 'string'
          ? [key, inner.replace('#/components/schemas/', '#/$defs/')]
          : [key, relink(inner)],
      ),
  );
}
