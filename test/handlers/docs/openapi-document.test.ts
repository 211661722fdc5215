import { describe, expect, test } from '@jest/globals';
import { openapiDocument } from '#handlers/ops/openapi-document.ts';
import { ROUTES } from '#handlers/features.ts';

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly schema: Record<string, unknown>;
  }[];
}

interface Document {
  readonly servers: readonly unknown[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, Record<string, unknown>> };
}

const document = openapiDocument(ROUTES, { secured: false }) as unknown as Document;
const text = JSON.stringify(document);

describe('the OpenAPI document', () => {
  test('has every route', () => {
    const operations = Object.values(document.paths).flatMap((item) =>
      Object.values(item).map((operation) => operation.operationId),
    );
    expect(operations.toSorted()).toEqual(ROUTES.map((route) => route.id).toSorted());
  });

  test('describes every component, and refers to no other thing', () => {
    const { schemas } = document.components;
    const empty = Object.entries(schemas).filter(
      ([, schema]) => schema['type'] === undefined && schema['anyOf'] === undefined,
    );
    expect(empty).toEqual([]);
    const referred = new Set([...text.matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference));
    const known = new Set(Object.keys(schemas).map((name) => `#/components/schemas/${name}`));
    expect([...referred].filter((reference) => !known.has(reference ?? ''))).toEqual([]);
  });

  test('says what a command needs', () => {
    expect(document.components.schemas['ExecRequest']).toEqual({
      type: 'object',
      required: ['argv'],
      properties: {
        argv: { type: 'array', minItems: 1, items: { type: 'string' } },
        timeout_ms: {
          anyOf: [{ type: 'number', exclusiveMinimum: 0, maximum: 2_147_483_647 }, { type: 'null' }],
          description: 'Milliseconds; none: no limit',
          example: 10_000,
        },
        cwd: {
          type: ['string', 'null'],
          description: 'Within /workspace, the default',
          example: '/workspace',
        },
      },
    });
  });

  test('gives each error an example with a code of that status', () => {
    expect(text).toContain(
      '"404":{"description":"`sandbox_not_found`","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Error"},' +
        '"example":{"error":"What is wrong, the value, and the remedy.","code":"sandbox_not_found","retryable":false}}}}',
    );
  });

  test('names its servers, and describes each of its tags', () => {
    const { servers, tags } = document;
    expect(servers).toEqual([{ url: '/', description: expect.any(String) }]);
    const used = new Set(
      Object.values(document.paths).flatMap((item) => Object.values(item).flatMap(({ tags }) => tags)),
    );
    expect(tags.map(({ name }) => name).toSorted()).toEqual([...used].toSorted());
    expect(tags.filter(({ description }) => description.length < 10)).toEqual([]);
  });

  test('limits each parameter of a path, by a pattern or a list', () => {
    const all = Object.values(document.paths).flatMap((item) =>
      Object.values(item).flatMap(({ operationId, parameters = [] }) =>
        parameters
          .filter((parameter) => parameter.in === 'path')
          .map(({ name, schema }) => ({ operationId, name, schema })),
      ),
    );
    expect(all.length).toBeGreaterThan(100);
    expect(
      all.filter(({ schema }) => schema['pattern'] === undefined && schema['enum'] === undefined),
    ).toEqual([]);
  });

  test('has one type a schema, besides null, and one spelling a property', () => {
    const lists: unknown[] = [];
    const twins: string[] = [];
    JSON.stringify(document, (key, value: unknown) => {
      if (key === 'type' && Array.isArray(value) && value.filter((type) => type !== 'null').length > 1)
        lists.push(value);
      if (key === 'properties') {
        const names = Object.keys(value as object);
        const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
        twins.push(...names.filter((name) => snake(name) !== name && names.includes(snake(name))));
      }
      return value;
    });
    expect([lists, twins]).toEqual([[], []]);
    expect(document.components.schemas['StartPreviewRequest']).toMatchObject({ required: ['target_port'] });
  });

  test('names times by their format alone', () => {
    expect(document.components.schemas['Run']).toMatchObject({
      properties: { created_at: { type: 'string', format: 'date-time' } },
    });
    expect(text).not.toContain('"pattern":"^(?:(?:\\\\d\\\\d[2468]');
  });
});
