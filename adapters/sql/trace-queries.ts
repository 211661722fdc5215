import type { KyselyConfig, LogEvent } from 'kysely';
import { presentTracing } from '#core/telemetry/tracing.ts';

const TABLE = /\b(?:from|into|update) "(\w+)"/;

/**
 * Kysely's log, if something is traced: a span for each statement of a request, named by the
 * conventions for databases, with neither its text nor its parameters.
 */
export function traceQueries(system: 'postgresql' | 'sqlite'): Pick<KyselyConfig, 'log'> {
  const tracing = presentTracing();
  if (tracing === undefined) return {};
  const log = (event: LogEvent): void => {
    const { sql } = event.query;
    const operation = (/^\w+/.exec(sql)?.[0] ?? 'query').toUpperCase();
    const table = TABLE.exec(sql)?.[1];
    const attributes = {
      'db.system.name': system,
      'db.operation.name': operation,
      ...(table !== undefined && { 'db.collection.name': table }),
    };
    const began = performance.now() - event.queryDurationMillis;
    const failure = event.level === 'error' ? codeOf(event.error) : undefined;
    tracing.add(table === undefined ? operation : `${operation} ${table}`, began, attributes, failure);
  };
  return { log };
}

/** A SQLSTATE, or Node's code of the error. */
function codeOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : 'Error';
}
