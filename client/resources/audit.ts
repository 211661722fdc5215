import type { AuditEvent, AuditHead } from '../api.ts';
import type { HttpClient } from '../http/http-client.ts';
import { pages } from '../http/pages.ts';
import type { CallOptions } from './files.ts';

export type { AuditEvent, AuditHead } from '../api.ts';

export interface AuditFilter extends CallOptions {
  readonly type?: AuditEvent['type'] | undefined;
  /** What was changed: `sandbox/ID`, `run/ID/port/3000`. */
  readonly subject?: string | undefined;
  /** Who did it, for whom, or the owner of what was changed. */
  readonly user?: string | undefined;
  readonly from?: Date | undefined;
  /** Exclusive. */
  readonly to?: Date | undefined;
  /** `desc`: newest first. @default asc */
  readonly order?: 'asc' | 'desc' | undefined;
  /** Rows of one request. @default 1000 */
  readonly limit?: number | undefined;
}

export interface AuditHeads {
  /** Oldest first. */
  readonly heads: readonly AuditHead[];
  /** JSON Web Keys that verify them. */
  readonly keys: readonly Readonly<Record<string, string>>[];
}

/** Rows of one request. */
const AT_ONCE = 1_000;

/** What happened in the installation. */
export class Audit {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** In the order of the filter. */
  events({ signal, from, to, ...filter }: AuditFilter = {}): AsyncGenerator<AuditEvent, void> {
    const query = { limit: AT_ONCE, ...filter, from: from?.toISOString(), to: to?.toISOString() };
    return pages<AuditEvent>(this.#http, 'v1/audit', 'events', query, signal);
  }

  /** The signed heads of the rows from `from` on. */
  async heads(from = 0, { signal }: CallOptions = {}): Promise<AuditHeads> {
    const heads: AuditHead[] = [];
    for (let next = from; ; ) {
      const page = await this.#http.json<AuditHeads>('GET v1/audit/heads', { query: { from: next }, signal });
      heads.push(...page.heads);
      if (page.heads.length < AT_ONCE) return { heads, keys: page.keys };
      next = (page.heads.at(-1)?.seq ?? 0) + 1;
    }
  }

  /** Removes a user from the rows, which stay verifiable, for ever. Resolves to their number. */
  async redact(user: string, { signal }: CallOptions = {}): Promise<number> {
    const { redacted } = await this.#http.json<{ redacted: number }>('POST v1/audit/redact', {
      json: { user },
      signal,
    });
    return redacted;
  }
}
