import { describe, expect, test } from '@jest/globals';
import { workerSchemaValidator } from '#adapters/editor/worker-schema-validator.ts';

const validate = workerSchemaValidator();

describe('validates schemas', () => {
  test.each([
    ['a schema of everyday', { type: 'object', properties: { n: { type: 'integer' } } }],
    ['an empty one', {}],
    ['unknown keywords and formats', { foo: 1, format: 'no-such-format', 'x-order': ['a'] }],
    ['references within', { $defs: { a: { type: 'string' } }, properties: { b: { $ref: '#/$defs/a' } } }],
    ['one that refers to itself', { properties: { child: { $ref: '#' } } }],
  ])('%s is one', async (_, schema) => {
    expect(await validate.validate('alice', { input_schema: schema })).toEqual({ kind: 'fits' });
  });

  test.each([
    ['a type that is none', { type: 'objekt' }, /must be equal to one of the allowed values/],
    ['a reference to elsewhere', { $ref: 'https://example.com/a.json' }, /can't resolve reference/],
    ['another draft', { $schema: 'http://json-schema.org/draft-04/schema#' }, /no schema with key or ref/],
    ['a pattern that is none', { pattern: '(' }, /Invalid regular expression/],
    ['what is not of JSON Schema', { $async: true }, /\$async/],
  ])('%s is malformed, and it is said why', async (_, schema, reason) => {
    expect(await validate.validate('alice', { fine: {}, settings_schema: schema })).toEqual({
      kind: 'malformed',
      name: 'settings_schema',
      reason: expect.stringMatching(reason),
    });
  });

  test('reports where and why a value does not fit', async () => {
    const schema = { type: 'object', required: ['a'], properties: { n: { type: 'integer' } } };
    expect(await validate.validate('alice', { s: schema }, { by: 's', is: { n: 'x' } })).toEqual({
      kind: 'unfit',
      reasons: ["it must have required property 'a'", '/n must be integer'],
    });
    expect(await validate.validate('alice', { s: schema }, { by: 's', is: { a: null, n: 3 } })).toEqual({
      kind: 'fits',
    });
  });

  test('reports at most ten reasons', async () => {
    const schema = { items: { type: 'string' } };
    const result = await validate.validate(
      'alice',
      { s: schema },
      { by: 's', is: Array.from({ length: 50 }, () => 1) },
    );
    expect(result).toMatchObject({ kind: 'unfit' });
    expect('reasons' in result && result.reasons).toHaveLength(10);
  });

  test('reports a pattern that never comes to an end as too costly, while the process goes on', async () => {
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 10);
    const schema = { pattern: '^(a+)+$' };
    const result = await validate.validate('alice', { s: schema }, { by: 's', is: `${'a'.repeat(60)}!` });
    clearInterval(timer);
    expect(result).toEqual({ kind: 'too_costly' });
    expect(turns).toBeGreaterThan(10);
  });

  test('reports a schema of sixty thousand patterns as too costly', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 60_000 }, (_, at) => [`p${at}`, { enum: [at], pattern: `${at}` }]),
    );
    const result = await validate.validate('alice', { s: { properties: many } });
    expect(result).toEqual({ kind: 'too_costly' });
  });

  test('validates many at once', async () => {
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        validate.validate('alice', { s: { const: at } }, { by: 's', is: at % 2 ? at : -1 }),
      ),
    );
    expect(results.map(({ kind }) => kind)).toEqual(
      Array.from({ length: 8 }, (_, at) => (at % 2 ? 'fits' : 'unfit')),
    );
  });
});
