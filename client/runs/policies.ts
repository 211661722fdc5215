import type { HttpClient } from '../http/http-client.ts';
import { pages } from '../http/pages.ts';
import type { CallOptions } from '../sandboxes/files.ts';

/**
 * How far an approval reaches: this call alone, its port in this run, any port in this run, or any
 * port in all your runs.
 */
export const APPROVAL_SCOPES = ['once', 'port', 'run', 'always'] as const;
export type ApprovalScope = (typeof APPROVAL_SCOPES)[number];

/** A permanent approval, given once for all later requests. */
export interface PolicyInfo {
  readonly policy_id: string;
  readonly tool: string;
  readonly scope: Exclude<ApprovalScope, 'once'>;
  readonly [field: string]: unknown;
}

/** Your approval policies. */
export class Policies {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  list({ signal }: CallOptions = {}): AsyncGenerator<PolicyInfo, void> {
    return pages<PolicyInfo>(this.#http, 'api/approval-policies', 'policies', {}, signal);
  }

  delete(id: string, { signal }: CallOptions = {}): Promise<void> {
    return this.#http.done(`DELETE api/approval-policies/${encodeURIComponent(id)}`, { signal });
  }
}
