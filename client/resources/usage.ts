import type { Usage as UsageRow } from '../api.ts';
import type { HttpClient } from '../http/http-client.ts';
import { pages } from '../http/pages.ts';
import type { CallOptions } from './files.ts';

export type { Usage as UsageRow } from '../api.ts';

export const USAGE_GROUPS = ['sandbox', 'run', 'owner', 'org', 'day'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

export interface UsageFilter extends CallOptions {
  /** @default ['day'] */
  readonly by?: readonly UsageGroup[] | undefined;
  readonly sandbox?: string | undefined;
  readonly run?: string | undefined;
  /** User name; useful for admins. */
  readonly owner?: string | undefined;
  readonly org?: string | undefined;
  /** First day in UTC, `YYYY-MM-DD`. @default 30 days ago */
  readonly from?: string | undefined;
  /** Last day in UTC. @default today */
  readonly to?: string | undefined;
}

/** Rows of one request. */
const AT_ONCE = 1_000;

/** What sandboxes have used: yours, or for admins that of everyone. */
export class Usage {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** Sums, ordered by what they are grouped by. */
  list({ signal, by, ...filter }: UsageFilter = {}): AsyncGenerator<UsageRow, void> {
    const query = { ...filter, by: by?.join(','), limit: AT_ONCE };
    return pages<UsageRow>(this.#http, 'v1/usage', 'usage', query, signal);
  }

  /** The same as CSV with a header. */
  async csv({ signal, by, ...filter }: UsageFilter = {}): Promise<string> {
    const query = { ...filter, by: by?.join(','), format: 'csv' };
    return (await this.#http.send('GET v1/usage', { query, signal })).text();
  }
}
