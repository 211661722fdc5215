import type { Api } from '../api/api.ts';

type Listed = Api['GET /api/runs/{id}/sandbox/port-forward']['answer'][number];
type Diagnosis = Api['GET /api/runs/{id}/sandbox/doctor']['answer'];
export type PreviewReason = NonNullable<Api['POST /api/runs/{id}/sandbox/port-forward']['answer']['reason']>;

/** Why a preview shows nothing, and what to do about it. */
export const REASONS: Readonly<Record<PreviewReason, string>> = {
  nothing_listens:
    'Nothing listens on this port yet. Start the server in the sandbox: the preview shows it by itself.',
  not_http: 'The server on this port does not speak plain HTTP. Start it without TLS: previews bring HTTPS.',
  starting: 'The preview is on its way up and shows by itself. This takes some seconds.',
  gateway_untrusted:
    "Porthole doesn't trust the gateway's certificate, so it can't tell whether the preview works. Ask your administrator.",
  gateway_unreachable: "Porthole can't reach the gateway. Ask your administrator.",
  server_failed: 'The declared server of this port failed. Read its logs, and start it again.',
  sandbox_stopped:
    'The sandbox is stopped. Resume it and start the server again: the link is still the same.',
};

/** State of a preview; `reason` is set if the user can act on it. */
export interface PreviewStatus {
  readonly state: 'serves' | 'not serving' | 'checking';
  readonly reason?: string;
}

/** @param problem why the sandbox could not be inspected */
export function previewStatus(
  { target_port: port, reason }: Pick<Listed, 'target_port' | 'reason'>,
  found: Pick<Diagnosis, 'sandbox' | 'advice' | 'ports'> | undefined,
  problem: string | undefined,
): PreviewStatus {
  if (reason !== undefined || found?.sandbox === 'stopped') {
    return { state: 'not serving', reason: REASONS[reason ?? 'sandbox_stopped'] };
  }
  if (found === undefined) {
    return problem === undefined ? { state: 'checking' } : { state: 'checking', reason: problem };
  }
  const finding = found.ports.find((each) => each.port === port);
  if (finding?.ready === true) return { state: 'serves' };
  if (found.sandbox === 'creating') return { state: 'not serving', reason: REASONS.starting };
  if (found.sandbox === 'absent') return { state: 'not serving', reason: found.advice };
  return { state: 'not serving', reason: finding?.advice ?? REASONS.nothing_listens };
}
