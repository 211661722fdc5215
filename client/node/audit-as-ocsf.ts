import type { HttpClient } from '../http/http-client.ts';
import type { AuditFilter } from '../resources/audit.ts';

/** An event of OCSF 1.3 (Open Cybersecurity Schema Framework). */
export interface OcsfEvent {
  readonly class_uid: number;
  /** `id` and `seq` of the row. */
  readonly metadata: { readonly uid: string; readonly sequence: number };
  readonly [field: string]: unknown;
}

/** Rows of one request. */
const AT_ONCE = 1_000;

export async function* auditAsOcsf(
  http: HttpClient,
  { signal, from, to, limit = AT_ONCE, ...filter }: AuditFilter,
): AsyncGenerator<OcsfEvent, void> {
  const fixed = {
    ...filter,
    from: from?.toISOString(),
    to: to?.toISOString(),
    limit,
    format: 'ocsf',
  };
  for (let after = 0; ; ) {
    const page = await http.send('GET v1/audit', { query: { ...fixed, after }, signal });
    const events = (await page.text())
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as OcsfEvent);
    yield* events;
    if (events.length < limit) return;
    after = events.at(-1)?.metadata.sequence ?? 0;
  }
}
