import { describe, expect, test } from '@jest/globals';
import { openapiDocument } from '#handlers/ops/openapi-document.ts';
import { ROUTES } from '#handlers/routes.ts';

interface Document {
  readonly paths: Record<string, Record<string, { readonly operationId: string }>>;
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
        '"example":{"error":"What is wrong, the value, and the remedy.","code":"sandbox_not_found"}}}}',
    );
  });

  test('names times by their format alone', () => {
    expect(document.components.schemas['Run']).toMatchObject({
      properties: { created_at: { type: 'string', format: 'date-time' } },
    });
    expect(text).not.toContain('"pattern":"^(?:(?:\\\\d\\\\d[2468]');
  });
});
