import { pino, type DestinationStream, type Logger } from 'pino';

/** What no log line may hold, wherever it came from: preview tokens (also within host names), signed tokens, bearer headers. */
const SECRETS: readonly [RegExp, string][] = [
  [/\b[a-z]{3,10}-[a-z]{3,10}-[a-z]{3,10}-[a-z2-7]{26}\b/g, '[preview token]'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, '[signed token]'],
  [/\b(bearer\s+)[^\s"\\]+/gi, '$1[redacted]'],
  [/([?&]token=)[^&\s"\\]+/gi, '$1[redacted]'],
  // The password of a URL, as database drivers like to repeat it.
  [/(\/\/[^/:@\s"\\]+:)[^@/\s"\\]+(@)/g, '$1[redacted]$2'],
];

export interface LoggerOptions {
  readonly level: string;
  /** Configured keys, removed wherever they turn up. */
  readonly secrets: readonly string[];
  /** For tests; default: standard output, one JSON line each, or readable lines on a terminal. */
  readonly destination?: DestinationStream | undefined;
}

/** Structured logs. Nothing secret is handed to the logger in the first place; this takes out what got there by accident. */
export async function createLogger({ level, secrets, destination }: LoggerOptions): Promise<Logger> {
  const known = secrets.filter((secret) => secret.length >= 4);
  const redact = (line: string) => {
    let clean = line;
    for (const secret of known) clean = clean.replaceAll(secret, '[redacted]');
    for (const [pattern, replacement] of SECRETS) clean = clean.replace(pattern, replacement);
    return clean;
  };
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: redact },
    },
    destination ?? (await standardOutput()),
  );
}

async function standardOutput(): Promise<DestinationStream> {
  if (!process.stdout.isTTY) return pino.destination({ dest: 1, sync: false });
  const { default: pretty } = await import('pino-pretty');
  return pretty({ colorize: true, translateTime: 'SYS:HH:MM:ss', sync: true });
}
