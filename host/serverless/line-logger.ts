import { secretRedactor } from '#core/auth/redact-secrets.ts';
import { traceIds } from '#core/telemetry/tracing.ts';
import type { HttpEvent } from '#handlers/http/http-event.ts';
import type { Logger } from '#handlers/services.ts';

export interface LineLoggerOptions {
  /**
   * Least severe line to write.
   * @default `LOG_LEVEL` from the environment, else `info`
   */
  readonly level?: string | undefined;
  /** Redacts secrets in lines. @default texts with the form of a token */
  readonly redact?: ((text: string) => string) | undefined;
  /** @default standard output */
  readonly write?: ((line: string) => void) | undefined;
}

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/**
 * The lines of the function host's logger, without its start-up cost. Each is written before the
 * call returns, because a runtime may freeze the process as soon as a request is answered.
 */
export function lineLogger({
  level = process.env['LOG_LEVEL'] ?? 'info',
  redact = secretRedactor([]),
  write = (line) => void process.stdout.write(line),
}: LineLoggerOptions = {}): Logger {
  const least = LEVELS.indexOf(level);
  const at = (name: 'debug' | 'info' | 'warn' | 'error') =>
    LEVELS.indexOf(name) < least
      ? () => undefined
      : (fields: object, message: string) =>
          write(
            redact(
              `${lineOf({ level: name, time: new Date().toISOString(), ...traceIds(), ...fields, msg: message })}\n`,
            ),
          );
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function lineOf(fields: object): string {
  return JSON.stringify(fields, (_name, value: unknown) => (value instanceof Error ? shown(value) : value));
}

function shown(error: Error): object {
  const { name, message, stack, cause } = error;
  const { code } = error as { code?: unknown };
  return {
    type: name,
    message,
    stack,
    ...(code !== undefined && { code }),
    ...(cause !== undefined && { cause }),
  };
}

/** Logs one request like the function host. `began`: in milliseconds of `performance.now()`. */
export function logRequest(
  log: Logger,
  operation: string,
  { requestContext: { requestId, http } }: HttpEvent,
  status: number,
  began: number,
): void {
  const ms = Math.round((performance.now() - began) * 10) / 10;
  const fields = { operation, status, ms, request_id: requestId };
  // Probes and polling would hide the other lines.
  if (http.method === 'GET' && status < 400) log.debug(fields, 'request');
  else log.info(fields, 'request');
}
