import type { Person } from '../callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { JsonObject, JsonValue, ToolSource } from './editor-store.ts';
import { isBeyondNumbers, isTooDeep, MAX_DEPTH } from './tool-json.ts';

export type SchemaResult =
  | { readonly kind: 'fits' }
  /** One of the schemas is not a valid JSON Schema. */
  | { readonly kind: 'malformed'; readonly name: string; readonly reason: string }
  /** The value does not match the schema: at most ten reasons. */
  | { readonly kind: 'unfit'; readonly reasons: readonly string[] }
  /** Validation exceeded its time or memory limit. */
  | { readonly kind: 'too_costly' };

/**
 * Validates JSON Schemas of draft 2020-12, and values against them. Both are hostile: validation
 * ends within seconds for any input, and does not block the process.
 */
export interface SchemaValidator {
  /**
   * @param queueKey calls with equal keys run in sequence, independent of other keys
   * @param value is validated against the schema of that name, after all schemas are valid
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
 * Validates the schemas, and the inputs, if given, against the input schema.
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
    if (isTooDeep(schema)) throw malformed(name, `it nests deeper than ${MAX_DEPTH} levels`);
    if (isBeyondNumbers(schema)) throw malformed(name, 'it contains a number outside the range of a double');
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
        `The inputs do not match input_schema: ${result.reasons.join('; ')}.`,
        { details: { reasons: result.reasons } },
      );
    case 'too_costly':
      throw new PortholeError(
        'invalid_schema',
        'Validating against the schemas takes longer than one second: a pattern that backtracks, or too many rules.',
        { remedy: 'Simplify them.' },
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
