import type { Person } from '../callers.ts';
import { PortholeError } from '../errors.ts';
import type { JsonObject, JsonValue, ToolSource } from './editor-store.ts';
import { isBeyondNumbers, isTooDeep, MOST_DEPTH } from './tool-json.ts';

export type SchemaResult =
  | { readonly kind: 'fits' }
  /** One of the schemas is none. */
  | { readonly kind: 'malformed'; readonly name: string; readonly reason: string }
  /** The value is not what the schema says: at most ten reasons. */
  | { readonly kind: 'unfit'; readonly reasons: readonly string[] }
  /** It was not found out within the time and the memory that judging may take. */
  | { readonly kind: 'too_costly' };

/**
 * Judges JSON Schemas of draft 2020-12, and values by them. Both are hostile: whatever they are, a
 * verdict comes within seconds, and nothing else of the process waits for it.
 */
export interface SchemaValidator {
  /**
   * @param whose cases wait behind each other, and not behind those of others
   * @param value is judged by the schema of that name, once all of them are found to be schemas
   */
  validate(
    queueKey: string,
    schemas: Readonly<Record<string, JsonObject>>,
    value?: { readonly by: string; readonly is: JsonValue },
  ): Promise<SchemaResult>;
}

export interface CheckSchemasDeps {
  readonly schemas: SchemaValidator;
}

type Schemas = Partial<Pick<ToolSource, 'inputSchema' | 'settingsSchema'>>;

/**
 * Whether the schemas are some, and the inputs, where they are given, fit the schema for them.
 * @throws PortholeError `invalid_schema`, `invalid_inputs`
 */
export async function checkSchemas(
  { schemas: validate }: CheckSchemasDeps,
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
  const isValidated = inputs !== undefined && inputSchema != null;
  const result = await validate.validate(
    JSON.stringify([person.org, person.user]),
    schemas,
    isValidated ? { by: 'input_schema', is: inputs } : undefined,
  );
  switch (result.kind) {
    case 'fits':
      return;
    case 'malformed':
      throw malformed(result.name, result.reason);
    case 'unfit':
      throw new PortholeError(
        'invalid_inputs',
        `The inputs do not fit input_schema: ${result.reasons.join('; ')}.`,
        { details: { reasons: result.reasons } },
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
