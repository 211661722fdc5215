import { parseJson } from './parse-json.ts';
import {
  defaultsOf,
  fieldsOf,
  type FormField,
  isObject,
  type JsonObject,
  problemOf,
  readField,
  shown,
} from './schema-form.ts';

/** Inputs of a run. The form and the JSON view share one text. */
export interface Inputs {
  /** JSON, possibly incomplete. */
  readonly text: string;
  /** Text of fields that is not a valid value yet, by name. */
  readonly raw: Readonly<Record<string, string>>;
}

export type ReadInputs =
  | { readonly value: unknown; readonly problems?: undefined }
  /** By field name; problems of the whole input are under `''`. */
  | { readonly problems: Readonly<Record<string, string>> };

export function inputsFor(schema: unknown): Inputs {
  return { text: JSON.stringify(defaultsOf(fieldsOf(schema) ?? []), null, 2), raw: {} };
}

export function inputsOf(value: unknown): Inputs {
  return { text: JSON.stringify(value, null, 2), raw: {} };
}

/** The object of the form's values; undefined if the text is not an object. */
export function valuesOf({ text }: Inputs): JsonObject | undefined {
  const read = parseJson(text.trim() === '' ? '{}' : text);
  return read.problem === undefined && isObject(read.value) ? read.value : undefined;
}

/** The text of a field. */
export function fieldText(inputs: Inputs, field: FormField): string {
  return inputs.raw[field.name] ?? shown(field, valuesOf(inputs)?.[field.name]);
}

/** The inputs after an edit of a field. */
export function withField(inputs: Inputs, field: FormField, text: string): Inputs {
  const values = { ...valuesOf(inputs) };
  const read = readField(field, text);
  if (read.problem === undefined && read.value !== undefined) values[field.name] = read.value;
  else delete values[field.name];
  return { text: JSON.stringify(values, null, 2), raw: { ...inputs.raw, [field.name]: text } };
}

/** The request body, or its problems. */
export function readInputs(inputs: Inputs, fields: readonly FormField[] | undefined): ReadInputs {
  const read = parseJson(inputs.text.trim() === '' ? '{}' : inputs.text);
  if (read.problem !== undefined) {
    const { line, column, words } = read.problem;
    return { problems: { '': `The inputs are not JSON. Line ${line}, column ${column}: ${words}` } };
  }
  if (fields === undefined || !isObject(read.value)) return { value: read.value };
  const { value } = read;
  const found = fields.flatMap((field): [string, string][] => {
    const written = inputs.raw[field.name];
    const problem =
      (written === undefined ? undefined : readField(field, written).problem) ??
      problemOf(field, value[field.name]);
    return problem === undefined ? [] : [[field.name, problem]];
  });
  return found.length === 0 ? { value } : { problems: Object.fromEntries(found) };
}
