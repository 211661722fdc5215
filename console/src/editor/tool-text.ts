import type { Answer } from '../api/client.ts';
import { type JsonProblem, parseJson } from './parse-json.ts';

export type ToolFields = Pick<
  Answer<'GET /api/v1/editor/tools/{tool_id}/draft'>,
  'entrypoint' | 'language' | 'source_code' | 'input_schema' | 'settings_schema' | 'usage_instructions'
>;
export type FieldName = keyof ToolFields;
export type ToolLanguage = ToolFields['language'];

/**
 * The fields of a version as a page holds them: schemas are text, which may be invalid JSON while
 * typing.
 */
export type ToolText = Readonly<Record<Exclude<FieldName, 'language'>, string>> & {
  readonly language: ToolLanguage;
};

/** A problem of a field, with its position if known. */
export interface FieldProblem {
  readonly words: string;
  readonly at?: JsonProblem;
}
export type FieldProblems = { readonly [name in FieldName]?: FieldProblem | undefined };

/** Labels of the fields, in editing order. */
export const FIELD_LABELS: Readonly<Record<FieldName, string>> = {
  source_code: 'Code',
  entrypoint: 'Entrypoint',
  language: 'Language',
  input_schema: 'Input schema',
  settings_schema: 'Settings schema',
  usage_instructions: 'Instructions',
};
export const FIELD_NAMES = Object.keys(FIELD_LABELS) as readonly FieldName[];

export function textOf(fields: ToolFields): ToolText {
  return {
    entrypoint: fields.entrypoint,
    language: fields.language,
    source_code: fields.source_code,
    input_schema: schemaText(fields.input_schema),
    settings_schema: schemaText(fields.settings_schema),
    usage_instructions: fields.usage_instructions,
  };
}

export interface ReadText {
  /** Undefined if a field is invalid. */
  readonly fields: ToolFields | undefined;
  readonly problems: FieldProblems;
}

/** Parses the fields for the API. An empty schema counts as absent. */
export function readText(text: ToolText): ReadText {
  const input = readSchema(text.input_schema);
  const settings = readSchema(text.settings_schema);
  const problems: FieldProblems = {
    ...(input.problem && { input_schema: input.problem }),
    ...(settings.problem && { settings_schema: settings.problem }),
    ...(text.entrypoint.trim() === '' && {
      entrypoint: { words: 'must be the name of a function, or module:function' },
    }),
  };
  if (Object.keys(problems).length > 0) return { fields: undefined, problems };
  const fields: ToolFields = {
    ...text,
    entrypoint: text.entrypoint.trim(),
    input_schema: input.schema,
    settings_schema: settings.schema,
  };
  return { fields, problems };
}

/** The names of differing fields. */
export function changedFields(one: ToolText, other: ToolText): readonly FieldName[] {
  return FIELD_NAMES.filter((name) => one[name] !== other[name]);
}

interface ReadSchema {
  readonly schema: ToolFields['input_schema'];
  readonly problem?: FieldProblem;
}

/** Text of a schema; null if empty. */
export function readSchema(text: string): ReadSchema {
  if (text.trim() === '') return { schema: null };
  const read = parseJson(text);
  if (read.problem !== undefined) {
    const { line, column, words } = read.problem;
    return { schema: null, problem: { words: `line ${line}, column ${column}: ${words}`, at: read.problem } };
  }
  const { value } = read;
  if (typeof value !== 'object' || Array.isArray(value)) {
    return { schema: null, problem: { words: 'must be a JSON object' } };
  }
  return { schema: value as ToolFields['input_schema'] };
}

function schemaText(schema: ToolFields['input_schema']): string {
  return schema === null ? '' : JSON.stringify(schema, null, 2);
}
