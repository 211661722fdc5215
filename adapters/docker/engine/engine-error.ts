/** A call that an engine refuses, or that does not reach it. */
export class EngineError extends Error {
  /** HTTP status of the refusal; undefined where no answer came. */
  readonly status: number | undefined;

  constructor(message: string, status: number | undefined, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'EngineError';
    this.status = status;
  }
}

/** More of an engine's words is not passed on. */
const LONGEST = 500;

/** What dockerode throws. */
interface Thrown {
  readonly statusCode?: unknown;
  readonly json?: { readonly message?: unknown } | null;
  readonly code?: unknown;
  readonly message?: unknown;
}

/** What went wrong, in the engine's own words where it answered. */
export function engineError(what: string, where: string, error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  const { statusCode, json, code, message } = error as Thrown;
  if (typeof statusCode === 'number') {
    // The library puts words of its own before the engine's where it has not read them as JSON.
    const said =
      typeof json?.message === 'string'
        ? json.message
        : String(message).replace(/^\(HTTP code \d+\) [^-]*- /, '');
    return new EngineError(`${what}: ${said.trim().slice(0, LONGEST)}`, statusCode, { cause: error });
  }
  const why = typeof code === 'string' ? code : String(message).slice(0, LONGEST);
  return new EngineError(`${what}: no answer from the container engine at ${where} (${why})`, undefined, {
    cause: error,
  });
}

export function isStatus(error: unknown, status: number): boolean {
  return error instanceof EngineError && error.status === status;
}
