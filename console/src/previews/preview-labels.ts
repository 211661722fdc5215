import { plainText } from '../../../base/plain-text.ts';
import type { Api } from '../api/api.ts';
import type { RunEvent } from '../runs/event-labels.ts';

type Listed = Api['GET /api/runs/{id}/sandbox/port-forward']['answer'][number];
export type PageCheck = Api['POST /api/runs/{id}/previews/{port}/check']['answer'];
type Diagnosis = Api['GET /api/runs/{id}/sandbox/doctor']['answer'];
export type PreviewReason = NonNullable<Api['POST /api/runs/{id}/sandbox/port-forward']['answer']['reason']>;

/** Why a preview is not ready, and what to do. */
export const REASONS: Readonly<Record<PreviewReason, string>> = {
  nothing_listens:
    'Nothing listens on this port yet. Start the server in the sandbox: the preview then shows it.',
  not_http: 'The server on this port does not speak plain HTTP. Start it without TLS: previews bring HTTPS.',
  starting: 'The preview is starting. This takes some seconds.',
  gateway_untrusted:
    "Porthole doesn't trust the gateway's certificate, so it can't tell whether the preview works. Ask your administrator.",
  gateway_unreachable: "Porthole can't reach the gateway. Ask your administrator.",
  server_failed: 'The declared server of this port failed. Read its logs, and start it again.',
  sandbox_stopped:
    'The sandbox is stopped. Resume it and start the server again: the link is still the same.',
};

/** State of a preview; `reason` is set if the user can act on it. */
export interface PreviewStatus {
  readonly state: 'works' | 'broken' | 'serves' | 'not serving' | 'checking';
  readonly reason?: string;
}

/** Each state in the words of the page. */
export const STATE_LABELS: Readonly<Record<PreviewStatus['state'], string>> = {
  works: 'Works',
  broken: 'Broken',
  serves: 'Running',
  'not serving': 'Not running',
  checking: 'Checking…',
};

/** The last check of a port's page, until something there starts, ends or changes. */
export function lastLook(events: readonly RunEvent[], port: number): RunEvent | undefined {
  const last = events.findLast(
    ({ type, data }) =>
      type.startsWith('sandbox.') ||
      type === 'server.changed' ||
      (type.startsWith('port.') && data['port'] === port) ||
      (type === 'preview.looked' && data['target_port'] === port),
  );
  return last?.type === 'preview.looked' ? last : undefined;
}

/**
 * @param problem why the sandbox could not be inspected
 * @param look the last check of the page, while it is current
 */
export function previewStatus(
  { target_port: port, reason }: Pick<Listed, 'target_port' | 'reason'>,
  found: Pick<Diagnosis, 'sandbox' | 'advice' | 'ports'> | undefined,
  problem: string | undefined,
  look?: Pick<RunEvent, 'data'>,
): PreviewStatus {
  if (reason !== undefined || found?.sandbox === 'stopped') {
    return { state: 'not serving', reason: REASONS[reason ?? 'sandbox_stopped'] };
  }
  if (found === undefined) {
    return problem === undefined ? { state: 'checking' } : { state: 'checking', reason: problem };
  }
  const finding = found.ports.find((each) => each.port === port);
  if (finding?.ready === true) return look === undefined ? { state: 'serves' } : lookStatus(look);
  if (found.sandbox === 'creating') return { state: 'not serving', reason: REASONS.starting };
  if (found.sandbox === 'absent') return { state: 'not serving', reason: found.advice };
  return { state: 'not serving', reason: finding?.advice ?? REASONS.nothing_listens };
}

/** Characters of a comment of the inbox. */
const MAX_COMMENT_CHARS = 2_000;

/** What a check found: a fault, its causes, the most likely first. */
interface Findings {
  readonly result: string;
  readonly causes: readonly Pick<PageCheck['causes'][number], 'message' | 'file' | 'line'>[];
}

/** What the timeline has of a check; undefined for a page that works. */
export function lookFindings({ data }: Pick<RunEvent, 'data'>): Findings | undefined {
  const { result, cause, place } = data;
  if (typeof result !== 'string' || typeof cause !== 'string') return undefined;
  return { result, causes: [{ message: cause, file: typeof place === 'string' ? place : null, line: null }] };
}

/** The comment that reports what a check found to the agent. Texts of the page, cut to fit. */
export function findingsComment(
  { port, path }: { readonly port: number; readonly path: string },
  { result, causes }: Findings,
): string {
  const lines = causes.map(({ message, file, line }) => {
    const place = file === null ? '' : ` (${line === null ? file : `${file}:${line}`})`;
    return `- ${plainText(`${message}${place}`, 500)}`;
  });
  const what = result === 'broken' ? 'is broken' : 'may have a fault';
  const head = `The page ${plainText(path, 200)} on port ${port} ${what}. Porthole’s browser found:`;
  return [head, ...lines].join('\n').slice(0, MAX_COMMENT_CHARS);
}

/** Texts of the page: untrusted, and truncated. */
function lookStatus({ data }: Pick<RunEvent, 'data'>): PreviewStatus {
  const text = (field: string) => plainText(String(data[field] ?? ''), 300);
  const result = data['result'];
  if (result === 'works') return { state: 'works' };
  const fault = text('cause').replace(/\.$/, '') || 'The cause is not known';
  const where = text('place') === '' ? '' : ` (${text('place')})`;
  const page = text('path') === '/' ? 'The page' : `The page ${text('path')}`;
  return result === 'broken'
    ? { state: 'broken', reason: `Broken: ${fault}${where}` }
    : { state: 'serves', reason: `${page} may have a fault. ${fault}${where}.` };
}
