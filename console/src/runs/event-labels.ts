import { plainText } from '../../../base/plain-text.ts';
import type { Api } from '../api/api.ts';
import { POLICY_SCOPES } from '../approvals/approval-labels.ts';

export type RunEvent = Api['GET /api/runs/{id}/activity']['answer']['events'][number];

/** Title of each type of event. */
export const EVENT_TITLES: Readonly<Record<RunEvent['type'], string>> = {
  'run.created': 'Run started',
  'run.completed': 'Run completed',
  'run.shared': 'Sharing changed',
  'agent.connected': 'Agent connected',
  'sandbox.created': 'Sandbox created',
  'sandbox.stopped': 'Sandbox stopped',
  'sandbox.resumed': 'Sandbox resumed',
  'sandbox.destroyed': 'Sandbox deleted',
  'checkpoint.created': 'Checkpoint',
  'checkpoint.restored': 'Checkpoint restored',
  'checkpoint.forked': 'Forked',
  'preview.opened': 'Preview opened',
  'preview.kept': 'Preview kept alive',
  'preview.stopped': 'Preview stopped',
  'preview.reaped': 'Preview ended',
  'preview.visited': 'Preview visited',
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
  'command.exited': 'Command ran',
  'file.written': 'File written',
  'file.deleted': 'File deleted',
  'network.requested': 'Network request',
};

/** The kinds of events, by the beginnings of their types. */
export const EVENT_KINDS = [
  { id: 'all', words: 'Everything', begins: [''] },
  { id: 'commands', words: 'Commands and processes', begins: ['command.', 'process.'] },
  { id: 'files', words: 'Files', begins: ['file.'] },
  { id: 'servers', words: 'Servers and ports', begins: ['server.', 'port.'] },
  { id: 'network', words: 'Network', begins: ['network.'] },
  { id: 'previews', words: 'Previews', begins: ['preview.'] },
  { id: 'approvals', words: 'Approvals', begins: ['tool.'] },
  { id: 'run', words: 'Run and sandbox', begins: ['run.', 'agent.', 'sandbox.', 'checkpoint.'] },
];

/** Whether an event is of a kind, and its words contain a text. */
export function eventMatches(event: RunEvent, owner: string, kind: string, text: string): boolean {
  const begins = EVENT_KINDS.find(({ id }) => id === kind)?.begins ?? [''];
  if (!begins.some((each) => event.type.startsWith(each))) return false;
  const wanted = text.trim().toLowerCase();
  return (
    wanted === '' || `${EVENT_TITLES[event.type]} ${eventDetail(event, owner)}`.toLowerCase().includes(wanted)
  );
}

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
  ...Object.fromEntries(
    Object.entries(POLICY_SCOPES).map(([scope, { reason }]) => [`${scope}_policy`, reason]),
  ),
};

/** What the people of the owner's organisation may do. */
const SHARED: Readonly<Record<string, string>> = {
  private: 'no longer shared',
  view: 'the organisation can view',
  work: 'the organisation can work',
};

const SCOPES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(POLICY_SCOPES).map(([scope, { reach }]) => [scope, reach]),
);

const ACTORS: Readonly<Record<string, string>> = {
  traffic: 'because it was used',
  delegate: 'by a delegate',
  admin: 'by an administrator',
  member: 'by a member of the organisation',
  sandbox: 'by a program in the sandbox',
  server: 'by a declared server',
};

/** A duration in words. */
export function lasted(milliseconds: number): string {
  if (milliseconds < 1_000) return `${milliseconds} ms`;
  const seconds = milliseconds / 1_000;
  return seconds < 60
    ? `${seconds.toFixed(1)} s`
    : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/**
 * Details of an event in a few words. Text of people is quoted and truncated.
 * @param owner name of the run's owner
 */
export function eventDetail({ type, data }: RunEvent, owner: string): string {
  const text = (field: string) => {
    const value = data[field];
    return typeof value === 'string' && value !== '' ? plainText(value, 200) : undefined;
  };
  const by = text('by') ?? (type === 'process.started' ? text('started_by') : undefined);
  const user = text('user') ?? (by === 'owner' ? plainText(owner, 200) : undefined);
  const duration = data['duration_ms'];
  const reason = text('reason');
  const source = text('source');
  const scope = text('scope');
  const tool = text('tool');
  const port = data['target_port'] ?? data['port'];
  const exitCode = data['exit_code'];
  const parts = [
    text('host'),
    typeof port === 'number' ? `port ${port}` : type.startsWith('tool.') ? tool : undefined,
    tool?.startsWith('share_preview:') === true ? 'a link' : undefined,
    text('server'),
    type === 'preview.looked' ? [text('path'), text('result')].join(' ') : undefined,
    text('cause')?.replace(/\.$/, ''),
    text('place'),
    type === 'server.changed' ? text('state') : undefined,
    type.startsWith('process.') ? (text('name') ?? text('command')) : undefined,
    type === 'command.exited' ? text('command') : undefined,
    type.startsWith('file.') ? text('path') : undefined,
    typeof exitCode === 'number' ? `exit code ${exitCode}` : text('signal'),
    typeof duration === 'number' ? lasted(duration) : undefined,
    type === 'network.requested' ? text('decision') : undefined,
    type === 'run.shared' ? SHARED[text('sharing') ?? ''] : undefined,
    type === 'run.created' && text('owner') !== undefined ? `by ${text('owner')}` : undefined,
    type === 'sandbox.created' ? text('image') : undefined,
    text('label') === undefined ? undefined : `“${text('label')}”`,
    text('viewer') === undefined ? undefined : `by ${text('viewer')}`,
    text('link') === undefined ? undefined : `with the link “${text('link')}”`,
    text('decided_by') === undefined ? undefined : `by ${text('decided_by')}`,
    by === undefined ? undefined : user === undefined ? (ACTORS[by] ?? `by the ${by}`) : `by ${user}`,
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

/** Adds events that are not known yet. Events of the sandbox may be written late. */
export function joinEvents(known: readonly RunEvent[], more: readonly RunEvent[]): readonly RunEvent[] {
  if (more.length === 0) return known;
  const ids = new Set(known.map(({ id }) => id));
  const fresh = more.filter(({ id }) => !ids.has(id));
  if (fresh.length === 0) return known;
  return [...known, ...fresh].toSorted((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)));
}
