/** Any schema of `guest/protocol`. */
export interface AnswerSchema<T> {
  parse(value: unknown): T;
}

export interface GuestCallOptions {
  /** Sent as JSON, or streamed where it is a stream. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the answer begins. @default a few seconds */
  readonly answerWithin?: number | undefined;
}

/** One event of a guest's stream: its name, its data, and the cursor behind it. */
export interface GuestStreamEvent {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

/**
 * The program inside one sandbox, spoken to in its protocol. It is not trusted: answers are bounded in size and time, and
 * validated with the schema.
 *
 * Failure codes (PortholeError): `sandbox_not_found`, `sandbox_not_running`, `exec_transport_error` where the guest cannot be
 * reached or breaks the protocol, and its own refusals: `invalid_request`, `not_found`, `conflict`, `process_exited`,
 * `wait_timed_out`, `too_many_processes`, `payload_too_large`.
 */
export interface Guest {
  /** An answer without a body is `undefined` to the schema. */
  call<T>(
    method: string,
    path: string,
    schema: AnswerSchema<T>,
    options?: GuestCallOptions,
  ): Promise<{ readonly status: number; readonly value: T }>;
  /** Server-sent events, until the guest or the signal ends them; rejects when the connection is lost. */
  events(path: string, options?: GuestCallOptions): AsyncIterable<GuestStreamEvent>;
}

export interface Guests {
  /** Does not connect yet. @throws PortholeError `processes_not_supported` where the provider's sandboxes have no guest */
  of(sandboxId: string): Guest;
}
