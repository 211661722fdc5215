import type { Clock } from '#base/clock-and-ids.ts';
import { type Cause, withCause } from './present-cause.ts';
import type { AuditRecords } from './audit-event.ts';

const WINDOW_MS = 60_000;
/** Different refusals that are stored in a window; of more only their number is. */
const MAX_KINDS = 100;

export interface DeniedRequest {
  /** The operation of the API. */
  readonly operation: string;
  /** The code of the error. */
  readonly code: string;
  readonly cause: Cause;
}

export interface DeniedRequestsDeps {
  readonly audit: Pick<AuditRecords, 'add'>;
  readonly clock: Clock;
  readonly failed: (error: unknown) => void;
}

/**
 * Puts refused requests into the audit. Anyone can send them, so equal ones of a minute are one
 * event, and their number is another once the minute is over.
 */
export class DeniedRequests {
  readonly #deps: DeniedRequestsDeps;
  #since = 0;
  #repeats = new Map<string, { readonly denied: DeniedRequest; count: number }>();
  #others = 0;
  #writes: Promise<unknown> = Promise.resolve();

  constructor(deps: DeniedRequestsDeps) {
    this.#deps = deps;
  }

  add(denied: DeniedRequest): void {
    const now = this.#deps.clock.now().getTime();
    if (now - this.#since >= WINDOW_MS) {
      this.#writeRepeats();
      this.#since = now;
    }
    const { operation, code, cause } = denied;
    const { kind, id, credential } = cause.actor;
    const key = JSON.stringify([operation, code, kind, id, credential, cause.sourceIp]);
    const known = this.#repeats.get(key);
    if (known !== undefined) {
      known.count += 1;
    } else if (this.#repeats.size >= MAX_KINDS) {
      this.#others += 1;
    } else {
      this.#repeats.set(key, { denied, count: 0 });
      this.#write(denied, {});
    }
  }

  /** Resolves once all refusals so far are stored, also the numbers of repeated ones. */
  async settled(): Promise<void> {
    this.#writeRepeats();
    await this.#writes;
  }

  #writeRepeats(): void {
    for (const each of this.#repeats.values()) {
      if (each.count > 0) this.#write(each.denied, { repeated: each.count });
      each.count = 0;
    }
    if (this.#deps.clock.now().getTime() - this.#since >= WINDOW_MS) this.#repeats.clear();
    if (this.#others > 0) this.#write(OTHERS, { repeated: this.#others });
    this.#others = 0;
  }

  #write({ operation, code, cause }: DeniedRequest, more: { readonly repeated?: number }): void {
    const { audit, failed } = this.#deps;
    const data = { code, ...more };
    const event = { type: 'request.denied', subject: `operation/${operation}`, owner: null, data } as const;
    const writing = withCause(cause, () => audit.add([{ ...event, result: 'denied' }])).catch(failed);
    this.#writes = Promise.all([this.#writes, writing]);
  }
}

const STRANGER = { kind: 'visitor', id: null, org: null, credential: null } as const;
const OTHERS: DeniedRequest = {
  operation: 'several',
  code: 'several',
  cause: { actor: STRANGER, onBehalfOf: null, sourceIp: null, requestId: null, reason: null },
};
