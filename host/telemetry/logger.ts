import { pino, type DestinationStream, type Logger } from 'pino';
import { secretRedactor } from '#core/auth/redact-secrets.ts';
import { traceIds } from '#core/telemetry/tracing.ts';

export interface LoggerOptions {
  readonly level: string;
  /** Configured keys, redacted in every line. */
  readonly secrets: readonly string[];
  /** Adds the ids of the present span to each line. @default false */
  readonly hasTraces?: boolean | undefined;
  /** For tests; default: standard output, JSON lines, or readable lines on a terminal. */
  readonly destination?: DestinationStream | undefined;
}

/** Structured logs. Callers never log secrets; redaction catches accidents. */
export async function createLogger({
  level,
  secrets,
  hasTraces = false,
  destination,
}: LoggerOptions): Promise<Logger> {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      ...(hasTraces && { mixin: () => traceIds() ?? {} }),
      hooks: { streamWrite: secretRedactor(secrets) },
    },
    destination ?? (await standardOutput()),
  );
}

async function standardOutput(): Promise<DestinationStream> {
  if (!process.stdout.isTTY) return pino.destination({ dest: 1, sync: false });
  const { default: pretty } = await import('pino-pretty');
  return pretty({ colorize: true, translateTime: 'SYS:HH:MM:ss', sync: true });
}
