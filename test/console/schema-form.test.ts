import { describe, expect, test } from '@jest/globals';
import {
  defaultsOf,
  fieldsOf,
  type FormField,
  problemOf,
  readField,
  reasonsByField,
  shown,
} from '../../console/src/editor/schema-form.ts';

const field = (property: unknown, required = false): FormField => {
  const [found] =
    fieldsOf({ type: 'object', properties: { it: property }, required: required ? ['it'] : [] }) ?? [];
  if (found === undefined) throw new Error('no field');
  return found;
};

describe('schema form', () => {
  test.each([
    ['text', { type: 'string' }],
    ['long-text', { type: 'string', maxLength: 201 }],
    ['long-text', { type: 'string', format: 'textarea' }],
    ['number', { type: 'integer' }],
    ['number', { type: 'number' }],
    ['boolean', { type: 'boolean' }],
    ['choice', { type: 'string', enum: ['a', 'b'] }],
    ['choice', { const: 1 }],
    ['json', { type: 'array' }],
    ['json', { type: ['string', 'null'] }],
    ['json', true],
  ])('has a %s for %j', (kind, property) => {
    expect(field(property).kind).toBe(kind);
  });

  test('names a field by its title, and otherwise by its name', () => {
    expect(field({ title: 'Of whom', description: 'A customer' })).toMatchObject({
      title: 'Of whom',
      hint: 'A customer',
    });
    expect(field({ title: 7 }).title).toBe('it');
  });

  test.each([
    ['one that is no object', { type: 'array', items: {} }],
    ['none', undefined],
    ['one without properties', { type: 'object' }],
    ['one with no property', { type: 'object', properties: {} }],
    ['a choice of schemas', { oneOf: [], properties: { a: {} } }],
    ['a schema with $ref', { $ref: '#/$defs/a', properties: { a: {} } }],
    [
      'one of too many fields',
      { properties: Object.fromEntries(Array.from({ length: 61 }, (_, at) => [`f${at}`, {}])) },
    ],
  ])('offers no form for %s, only the JSON editor', (_, schema) => {
    expect(fieldsOf(schema)).toBeUndefined();
  });

  test('starts with the defaults, including false and empty ones', () => {
    const fields = fieldsOf({
      properties: { a: { default: false }, b: { default: null }, c: {}, d: { default: 'x' } },
    });
    expect(defaultsOf(fields ?? [])).toEqual({ a: false, b: null, d: 'x' });
  });
});

describe('form field', () => {
  test.each([
    [{ type: 'string' }, ' a ', { value: ' a ' }],
    [{ type: 'string' }, '', {}],
    [{ type: 'number' }, '1.5', { value: 1.5 }],
    [{ type: 'number' }, ' ', {}],
    [{ type: 'number' }, '1e999', { problem: 'must be a number' }],
    [{ type: 'number' }, 'twelve', { problem: 'must be a number' }],
    [{ type: 'integer' }, '1.5', { problem: 'must be a whole number' }],
    [{ type: 'boolean' }, 'true', { value: true }],
    [{ enum: ['1', 1] }, '"1"', { value: '1' }],
    [{ type: 'array' }, '[1]', { value: [1] }],
    [{ type: 'array' }, '[1', { problem: 'must be JSON' }],
  ])('parses %j containing %j', (property, text, read) => {
    expect(readField(field(property), text)).toEqual(read);
  });

  test.each([
    [{ type: 'string' }, 'a', 'a'],
    [{ type: 'number' }, 0, '0'],
    [{ type: 'array' }, [1], '[\n  1\n]'],
    [{ type: 'string' }, undefined, ''],
  ])('formats %j as %j', (property, value, text) => {
    expect(shown(field(property), value)).toBe(text);
  });

  test('reports an invalid value before the request is sent', () => {
    const bounded = field({ type: 'number', minimum: 1, maximum: 3 });
    expect([0, 1, 3, 4, undefined].map((value) => problemOf(bounded, value))).toEqual([
      'must be at least 1',
      undefined,
      undefined,
      'must be at most 3',
      undefined,
    ]);
    expect(problemOf(field({ type: 'string' }, true), undefined)).toBe('must not be empty');
  });
});

describe('field errors of the server', () => {
  test('are shown at their field', () => {
    expect(
      reasonsByField([
        '/rows must be >= 1',
        '/rows must be integer',
        '/people/0/name must be string',
        '/a~1b must be string',
        "it must have required property 'title'",
        'it must be object',
      ]),
    ).toEqual({
      rows: 'must be >= 1; must be integer',
      people: '/0/name must be string',
      'a/b': 'must be string',
      title: 'must not be empty',
      '': 'it must be object',
    });
  });
});
