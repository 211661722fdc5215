import type { JsonObject, JsonValue } from './editor.ts';

export type SchemaResult =
  | { readonly kind: 'fits' }
  /** One of the schemas is none. */
  | { readonly kind: 'malformed'; readonly name: string; readonly reason: string }
  /** The value is not what the schema says: at most ten reasons. */
  | { readonly kind: 'unfit'; readonly reasons: readonly string[] }
  /** It was not found out within the time and the memory that judging may take. */
  | { readonly kind: 'too_costly' };

/**
 * Judges JSON Schemas of draft 2020-12, and values by them. Both are hostile: whatever they are, a verdict comes within seconds, and nothing else of the process waits for it.
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
