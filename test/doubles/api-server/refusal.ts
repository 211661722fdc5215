/** An error in the API server's wording. */
export class Refusal extends Error {
  readonly code: number;
  readonly reason: string;
  readonly continueAt: string | undefined;

  constructor(code: number, reason: string, message: string, continueAt?: string) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.continueAt = continueAt;
  }

  body(retryAfterSeconds?: number): object {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.continueAt === undefined ? {} : { continue: this.continueAt },
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      ...(retryAfterSeconds !== undefined && { details: { retryAfterSeconds } }),
      code: this.code,
    };
  }
}
