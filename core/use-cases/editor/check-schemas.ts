import type { Person } from '../../callers.ts';
import { PortholeError } from '../../errors.ts';
import type { JsonValue, ToolSource } from '../../ports/editor.ts';
import type { SchemaJudge } from '../../ports/schema-judge.ts';
import { isTooDeep, MOST_DEPTH } from '../../rules/editor/json-depth.ts';
import { isBeyondNumbers } from '../../rules/editor/json-numbers.ts';

export interface CheckSchemasDeps {
  readonly schemas: SchemaJudge;
}

type Schemas = Partial<Pick<ToolSource, 'inputSchema' | 'settingsSchema'>>;

/**
 * Whether the schemas are some, and the inputs, where they are given, fit the schema for them.
 * @throws PortholeError `invalid_schema`, `invalid_inputs`
 */
export async function checkSchemas(
  { schemas: judge }: CheckSchemasDeps,
  person: Person,
  { inputSchema, settingsSchema }: Schemas,
  inputs?: JsonValue,
): Promise<void> {
  const schemas = {
    ...(inputSchema == null ? {} : { input_schema: inputSchema }),
    ...(settingsSchema == null ? {} : { settings_schema: settingsSchema }),
  };
  for (const [name, schema] of Object.entries(schemas)) {
    if (isTooDeep(schema)) throw malformed(name, `it nests deeper than ${MOST_DEPTH} levels`);
    if (isBeyondNumbers(schema)) throw malformed(name, 'it holds a number that no double is');
  }
  const isJudged = inputs !== undefined && inputSchema != null;
  const verdict = await judge.judge(
    JSON.stringify([person.org, person.user]),
    schemas,
    isJudged ? { by: 'input_schema', is: inputs } : undefined,
  );
  switch (verdict.kind) {
    case 'fits':
      return;
    case 'malformed':
      throw malformed(verdict.name, verdict.reason);
    case 'unfit':
      throw new PortholeError(
        'invalid_inputs',
        `The inputs do not fit input_schema: ${verdict.reasons.join('; ')}.`,
        { details: { reasons: verdict.reasons } },
      );
    case 'too_costly':
      throw new PortholeError(
        'invalid_schema',
        'The schemas take longer to judge than a second: a pattern that goes back and forth, or too much of everything. Simplify them.',
      );
  }
}

function malformed(name: string, reason: string): PortholeError {
  return new PortholeError(
    'invalid_schema',
    `${name} is not a JSON Schema of draft 2020-12: ${reason}. Correct it, or leave it out.`,
    { details: { field: name } },
  );
}
