import { describe, expect, test } from '@jest/globals';
import {
  fieldText,
  inputsFor,
  inputsOf,
  readInputs,
  valuesOf,
  withField,
} from '../../console/src/editor/tool-inputs.ts';
import { parseJson } from '../../console/src/editor/parse-json.ts';
import { fieldsOf, type FormField } from '../../console/src/editor/schema-form.ts';

const SCHEMA = {
  type: 'object',
  properties: { rows: { type: 'integer', default: 3, minimum: 1 }, title: { type: 'string' } },
  required: ['title'],
};
const fields = fieldsOf(SCHEMA) ?? [];
const [rows, title] = fields as readonly [FormField, FormField];

describe('tool inputs', () => {
  test('convert between the form and its JSON text', () => {
    const written = withField(inputsFor(SCHEMA), title, 'Prices');
    expect(JSON.parse(written.text)).toEqual({ rows: 3, title: 'Prices' });
    expect(readInputs(written, fields)).toEqual({ value: { rows: 3, title: 'Prices' } });
    expect(fieldText(inputsOf({ rows: 5 }), rows)).toBe('5');
  });

  test('keep an incomplete value in its field and do not send it', () => {
    const begun = withField(withField(inputsFor(SCHEMA), title, 'Prices'), rows, '-');
    expect(fieldText(begun, rows)).toBe('-');
    expect(valuesOf(begun)).toEqual({ title: 'Prices' });
    expect(readInputs(begun, fields)).toEqual({ problems: { rows: 'must be a number' } });
    expect(readInputs(withField(begun, rows, '2'), fields)).toEqual({ value: { title: 'Prices', rows: 2 } });
  });

  test('leave out a field that was emptied', () => {
    expect(valuesOf(withField(inputsFor(SCHEMA), rows, ''))).toEqual({});
  });

  test('list every field that the form still needs', () => {
    expect(readInputs(withField(inputsFor(SCHEMA), rows, '0'), fields)).toEqual({
      problems: { rows: 'must be at least 1', title: 'must not be empty' },
    });
  });

  test('are empty for an empty text, and accept any JSON without a form', () => {
    expect(readInputs({ text: ' ', raw: {} }, undefined)).toEqual({ value: {} });
    expect(readInputs({ text: '[1]', raw: {} }, undefined)).toEqual({ value: [1] });
  });

  test('report the position of a JSON syntax error', () => {
    expect(readInputs({ text: '{\n  "rows": 3,\n}', raw: {} }, fields)).toEqual({
      problems: { '': 'The inputs are not JSON. Line 3, column 1: "}" is not expected here' },
    });
  });
});

describe('JSON error position', () => {
  test.each([
    ['', 1, 1, 'the JSON ends too early'],
    ['{"a": 1', 1, 8, 'the JSON ends too early'],
    ['{"a" 1}', 1, 6, '"1" is not expected here'],
    ['[1,\n 2,\n x]', 3, 2, '"x" is not expected here'],
    ["{'a': 1}", 1, 2, '"\'" is not expected here'],
    ['{} {}', 1, 4, '"{" is not expected here'],
  ])('finds the error in %j', (text, line, column, words) => {
    expect(parseJson(text).problem).toMatchObject({ line, column, words });
  });

  test('is undefined for valid JSON', () => {
    expect(parseJson('{"a": [1, null]}')).toEqual({ value: { a: [1, null] } });
  });
});
