import type { ApprovalPolicy } from '../api.ts';
import type { HttpClient } from '../http/http-client.ts';
import { pages } from '../http/pages.ts';
import type { CallOptions } from './files.ts';

/**
 * How far an approval reaches: this call alone, its port in this run, any port in this run, or any
 * port in all your runs.
 */
export const APPROVAL_SCOPES = ['once', 'port', 'run', 'always'] as const;
export type ApprovalScope = (typeof APPROVAL_SCOPES)[number];

export type { ApprovalPolicy as PolicyInfo } from '../api.ts';

/** Your approval policies. */
export class Policies {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  list({ signal }: CallOptions = {}): AsyncGenerator<ApprovalPolicy, void> {
    return pages<ApprovalPolicy>(this.#http, 'api/approval-policies', 'policies', {}, signal);
  }

  delete(id: string, { signal }: CallOptions = {}): Promise<void> {
    return this.#http.done(`DELETE api/approval-policies/${encodeURIComponent(id)}`, { signal });
  }
}
