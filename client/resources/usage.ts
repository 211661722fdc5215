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

/** What sandboxes have used: yours, or for admins that of everyone. */
export class Usage {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** Sums, ordered by what they are grouped by. */
  list({ signal, by, ...filter }: UsageFilter = {}): AsyncGenerator<UsageRow, void> {
    return pages<UsageRow>(this.#http, 'v1/usage', 'usage', { ...filter, by: by?.join() }, signal);
  }
}
