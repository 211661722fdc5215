/**
 * Validates schemas in a worker thread: a regular expression in a schema may never terminate, and
 * only a thread can be stopped from outside. Imported elsewhere, it only exports its URL.
 */
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import type { JsonObject, JsonValue } from '#core/editor/editor-store.ts';
import type { SchemaResult } from '#core/editor/tool-schemas.ts';

export interface SchemaCase {
  readonly schemas: Readonly<Record<string, JsonObject>>;
  readonly value: { readonly by: string; readonly is: JsonValue } | undefined;
}

export const SCHEMA_WORKER = new URL(import.meta.url);
/** Key of the case in `workerData`. */
export const CASE = 'porthole-schema-case';
/** Message that the thread sends before it validates. */
export const READY = 'ready';

const MAX_REASONS = 10;
const MAX_REASON_CHARS = 300;

const given = (workerData as { readonly [CASE]?: SchemaCase } | null)?.[CASE];
if (!isMainThread && given !== undefined) {
  const { Ajv2020 } = await import('ajv/dist/2020.js');
  // Unknown keywords are ignored, as JSON Schema specifies. Formats are not checked: they are only
  // annotations.
  const validate = ({ schemas, value }: SchemaCase): SchemaResult => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true, logger: false });
    for (const [name, schema] of Object.entries(schemas)) {
      let found: NonNullable<typeof ajv.errors>;
      try {
        if ('$async' in schema) throw new Error('$async is not of JSON Schema');
        const fits = ajv.compile(schema);
        if (value?.by !== name || fits(value.is)) continue;
        found = fits.errors ?? [];
      } catch (error) {
        return { kind: 'malformed', name, reason: short((error as Error).message) };
      }
      const reasons = found.slice(0, MAX_REASONS);
      return {
        kind: 'unfit',
        reasons: reasons.map(({ instancePath, message }) =>
          short(`${instancePath || 'it'} ${message ?? 'does not fit'}`),
        ),
      };
    }
    return { kind: 'fits' };
  };
  parentPort?.postMessage(READY, []);
  parentPort?.postMessage(validate(given), []);
}

function short(text: string): string {
  return text.length > MAX_REASON_CHARS ? `${text.slice(0, MAX_REASON_CHARS)}…` : text;
}
