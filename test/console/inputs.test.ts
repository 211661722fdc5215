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

describe('inputs', () => {
  test('are one text for the form and for whoever writes JSON', () => {
    const written = withField(inputsFor(SCHEMA), title, 'Prices');
    expect(JSON.parse(written.text)).toEqual({ rows: 3, title: 'Prices' });
    expect(readInputs(written, fields)).toEqual({ value: { rows: 3, title: 'Prices' } });
    expect(fieldText(inputsOf({ rows: 5 }), rows)).toBe('5');
  });

  test('keep what is no value yet in its field, and are not sent with it', () => {
    const begun = withField(withField(inputsFor(SCHEMA), title, 'Prices'), rows, '-');
    expect(fieldText(begun, rows)).toBe('-');
    expect(valuesOf(begun)).toEqual({ title: 'Prices' });
    expect(readInputs(begun, fields)).toEqual({ problems: { rows: 'must be a number' } });
    expect(readInputs(withField(begun, rows, '2'), fields)).toEqual({ value: { title: 'Prices', rows: 2 } });
  });

  test('leave out a field that was emptied', () => {
    expect(valuesOf(withField(inputsFor(SCHEMA), rows, ''))).toEqual({});
  });

  test('say what the form lacks, all of it', () => {
    expect(readInputs(withField(inputsFor(SCHEMA), rows, '0'), fields)).toEqual({
      problems: { rows: 'must be at least 1', title: 'must not be empty' },
    });
  });

  test('are nothing where nothing is written, and any JSON where there is no form', () => {
    expect(readInputs({ text: ' ', raw: {} }, undefined)).toEqual({ value: {} });
    expect(readInputs({ text: '[1]', raw: {} }, undefined)).toEqual({ value: [1] });
  });

  test('that are no JSON say where', () => {
    expect(readInputs({ text: '{\n  "rows": 3,\n}', raw: {} }, fields)).toEqual({
      problems: { '': 'The inputs are not JSON. Line 3, column 1: "}" is not expected here' },
    });
  });
});

describe('the place where a text stops being JSON', () => {
  test.each([
    ['', 1, 1, 'the JSON ends too early'],
    ['{"a": 1', 1, 8, 'the JSON ends too early'],
    ['{"a" 1}', 1, 6, '"1" is not expected here'],
    ['[1,\n 2,\n x]', 3, 2, '"x" is not expected here'],
    ["{'a': 1}", 1, 2, '"\'" is not expected here'],
    ['{} {}', 1, 4, '"{" is not expected here'],
  ])('%j', (text, line, column, words) => {
    expect(parseJson(text).problem).toMatchObject({ line, column, words });
  });

  test('is nowhere in JSON', () => {
    expect(parseJson('{"a": [1, null]}')).toEqual({ value: { a: [1, null] } });
  });
});
