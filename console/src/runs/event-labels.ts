import { plainText } from '#core/shared/plain-text.ts';
import type { Api } from '../api/api.ts';

export type RunEvent = Api['GET /api/runs/{id}/timeline']['answer']['events'][number];

/** Title of each type of event. */
export const EVENT_TITLES: Readonly<Record<RunEvent['type'], string>> = {
  'run.created': 'Run started',
  'run.completed': 'Run completed',
  'agent.connected': 'Agent connected',
  'sandbox.created': 'Sandbox created',
  'sandbox.stopped': 'Sandbox stopped',
  'sandbox.resumed': 'Sandbox resumed',
  'sandbox.destroyed': 'Sandbox deleted',
  'preview.opened': 'Preview opened',
  'preview.kept': 'Preview kept alive',
  'preview.stopped': 'Preview stopped',
  'preview.reaped': 'Preview ended',
  'preview.looked': 'Page looked at',
  'inbox.posted': 'Comment',
  'inbox.replied': 'Reply',
  'tool.approval_required': 'Approval asked for',
  'tool.approved': 'Approved',
  'tool.denied': 'Denied',
  'tool.timed_out': 'Approval timed out',
  'tool.withdrawn': 'Request withdrawn',
  'port.listening': 'Port listens',
  'port.closed': 'Port closed',
  'server.changed': 'Server',
  'process.started': 'Process started',
  'process.exited': 'Process ended',
};

const REAPED: Readonly<Record<string, string>> = {
  idle: 'idle for too long',
  max_lifetime: 'its longest life was over',
  orphaned: 'its sandbox or its run was over',
  over_cap: 'the run had too many',
};

/** Why a process ended, if its exit code or signal does not say. */
const EXITS: Readonly<Record<string, string>> = {
  timed_out: 'its time limit was over',
  out_of_memory: 'out of memory',
  sandbox_stopped: 'its sandbox stopped',
  expired: 'its sandbox expired',
};

const SOURCES: Readonly<Record<string, string>> = {
  installation: 'as this installation approves all',
  run_option: 'as this run was started so',
  port_policy: 'as this port is approved for this run',
  run_policy: 'as any port of this run is approved',
  always_policy: 'as any port of all runs of its owner is approved',
};

const SCOPES: Readonly<Record<string, string>> = {
  port: 'this port for this run',
  run: 'any port of this run',
  always: 'any port of all runs of its owner',
};

const ACTORS: Readonly<Record<string, string>> = { traffic: 'because it was used' };

/** Details of an event in a few words. Text of people is quoted and truncated. */
export function eventDetail({ type, data }: RunEvent): string {
  const text = (field: string) => {
    const value = data[field];
    return typeof value === 'string' && value !== '' ? plainText(value, 200) : undefined;
  };
  const by = text('by');
  const reason = text('reason');
  const source = text('source');
  const scope = text('scope');
  const tool = text('tool');
  const port = data['target_port'] ?? data['port'];
  const exitCode = data['exit_code'];
  const parts = [
    text('host'),
    typeof port === 'number' ? `port ${port}` : type.startsWith('tool.') ? tool : undefined,
    text('server'),
    type === 'preview.looked' ? [text('path'), text('result')].join(' ') : undefined,
    text('cause'),
    text('place'),
    type === 'server.changed' ? text('state') : undefined,
    type.startsWith('process.') ? (text('name') ?? text('command')) : undefined,
    typeof exitCode === 'number' ? `exit code ${exitCode}` : text('signal'),
    type === 'run.created' && text('owner') !== undefined ? `by ${text('owner')}` : undefined,
    type === 'sandbox.created' ? text('image') : undefined,
    text('decided_by') === undefined ? undefined : `by ${text('decided_by')}`,
    by === undefined ? undefined : (ACTORS[by] ?? `by the ${by}`),
    source === undefined ? undefined : SOURCES[source],
    scope === undefined ? undefined : SCOPES[scope],
    reason === undefined
      ? undefined
      : type === 'preview.reaped'
        ? (REAPED[reason] ?? reason)
        : type === 'process.exited'
          ? EXITS[reason]
          : `“${reason}”`,
  ];
  return parts.filter((part) => part !== undefined).join(', ');
}
