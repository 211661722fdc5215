import { plainText } from '../../../base/plain-text.ts';
import type { Api } from '../api/api.ts';
import { timeLeft } from '../live/clock.ts';
import { audienceOf, LEVELS } from '../previews/access-labels.ts';
import { runName } from '../runs/run-name.ts';

export type WaitingApproval = Api['GET /api/approvals']['answer']['approvals'][number];

/** The requested port of a preview; undefined for other requests. */
export function portOf({ arguments: given }: Pick<WaitingApproval, 'arguments'>): number | undefined {
  const port = given['target_port'];
  return typeof port === 'number' ? port : undefined;
}

/** The requested host and port of a connection; undefined for other requests. */
export function destinationOf({
  tool,
  arguments: { host, port },
}: Pick<WaitingApproval, 'arguments' | 'tool'>): string | undefined {
  if (!tool.startsWith('network:') || typeof host !== 'string') return undefined;
  const name = plainText(host, 253);
  return port === 443 || port === 80 ? name : `${name}, port ${port}`;
}

/** What a policy approves without a question, before its ports. */
export function policySubject(tool: string): string {
  if (tool === 'start_preview') return 'Previews of';
  const [name, level = '', wake] = tool.split(':');
  if (name !== 'share_preview') return `${plainText(tool, 40)},`;
  return `Links (${LEVELS.find(({ id }) => id === level)?.words.toLowerCase() ?? 'link'}) ${wake === undefined ? 'to' : 'that may start'} previews of`;
}

type Asked = Pick<WaitingApproval, 'arguments' | 'tool'>;

/** A request for a link to a preview: another tool for each level. */
function isShare({ tool }: Pick<WaitingApproval, 'tool'>): boolean {
  return tool.startsWith('share_preview:');
}

/** The host or the port that is asked for; undefined for other requests. */
function targetOf(approval: Asked): string | undefined {
  const port = portOf(approval);
  return destinationOf(approval) ?? (port === undefined ? undefined : `port ${port}`);
}

/** The question in the console's words: an agent's text is always marked as such. */
export function questionOf(approval: Asked): string {
  const port = portOf(approval);
  const destination = destinationOf(approval);
  if (destination !== undefined) return `Let the sandbox connect to ${destination}?`;
  if (port === undefined) return `Allow the tool “${plainText(approval.tool, 40)}”?`;
  if (isShare(approval)) return `Share the preview of port ${port} by a link?`;
  return approval.arguments['rotate'] === true
    ? `Replace the preview of port ${port}?`
    : `Open a preview of port ${port}?`;
}

/** The effect of an approval. */
export function consequenceOf(
  approval: Pick<WaitingApproval, 'arguments' | 'level' | 'message' | 'tool'>,
): string {
  if (destinationOf(approval) !== undefined) {
    return `What runs there can then send what it knows to that host. It says: “${plainText(approval.message, 300)}”`;
  }
  if (portOf(approval) === undefined) return `It says: “${plainText(approval.message, 300)}”`;
  if (isShare(approval)) return shareConsequence(approval);
  const audience = `${audienceOf(approval.level ?? 'link')}.`;
  return approval.arguments['rotate'] === true ? `The current link ends. ${audience}` : audience;
}

const LINK_AUDIENCES: Readonly<Record<string, string>> = {
  org: 'Everyone in the owner’s organisation who has the link',
  signed_in: 'Everyone who is signed in and has the link',
};

function shareConsequence({ level, arguments: given }: Pick<WaitingApproval, 'arguments' | 'level'>): string {
  const { label, expires_in: seconds, max_uses: most, may_wake: mayWake } = given;
  const ends = [
    typeof seconds === 'number' ? `after ${timeLeft(seconds * 1_000)}` : undefined,
    typeof most === 'number' ? `after ${most} ${most === 1 ? 'visitor' : 'visitors'}` : undefined,
  ].filter((each) => each !== undefined);
  return [
    `${LINK_AUDIENCES[level ?? 'link'] ?? 'Anyone with the link'} can see the app.`,
    ...(mayWake === true ? ['They may start it while it is stopped, which uses your quota.'] : []),
    `It is for “${plainText(typeof label === 'string' ? label : '', 100)}”.`,
    ...(ends.length === 0 ? [] : [`It ends ${ends.join(' or ')}.`]),
  ].join(' ');
}

/** The run of a request, for its owner. */
export function askingRun({ run_id: id, run_title: title }: Pick<WaitingApproval, 'run_id' | 'run_title'>) {
  return runName(id, title, 80);
}

/** Outcome of a request that was not decided on this page. */
export function endedLabel(approval: WaitingApproval, now: number): string {
  const target = targetOf(approval);
  const what = target === undefined ? 'A request' : `The request for ${target}`;
  return now >= Date.parse(approval.expires_at)
    ? `${what} has timed out.`
    : `${what} is closed: it was decided elsewhere, or the agent withdrew it.`;
}

type ApprovalScope = NonNullable<Api['POST /api/runs/{id}/tool-approvals']['body']['scope']>;
type PolicyScope = Exclude<ApprovalScope, 'once'>;

/**
 * The scopes that create a policy, from narrow to wide: the order of their buttons. `keepsPort`:
 * covers the port of the request only; `everyRun`: all runs of the owner. On the timeline: the
 * `reach` of a decision, and the `reason` of a policy's approval.
 */
export const POLICY_SCOPES = {
  port: {
    keepsPort: true,
    everyRun: false,
    reach: 'this port for this run',
    reason: 'as this port is approved for this run',
  },
  run: {
    keepsPort: false,
    everyRun: false,
    reach: 'any port of this run',
    reason: 'as any port of this run is approved',
  },
  always: {
    keepsPort: false,
    everyRun: true,
    reach: 'any port of all runs of its owner',
    reason: 'as any port of all runs of its owner is approved',
  },
} as const satisfies Readonly<Record<PolicyScope, object>>;

export type Choice = ApprovalScope | 'deny' | 'never';

/** Label of each button; undefined for a scope that the request does not offer. */
export function choiceLabel(
  approval: Pick<WaitingApproval, 'arguments' | 'owner' | 'tool'>,
  choice: Choice,
  user: string,
): string | undefined {
  const port = portOf(approval);
  const isHost = destinationOf(approval) !== undefined;
  const runs = approval.owner === user ? 'all my runs' : `all runs of ${approval.owner}`;
  const words: Readonly<Record<Choice, string | undefined>> = {
    once: 'Approve once',
    deny: 'Deny',
    never: isHost ? 'Never for this sandbox' : undefined,
    port: port === undefined ? undefined : `Port ${port} for this run`,
    run: isHost ? 'This host for this run' : port === undefined ? 'All of this run' : 'Any port of this run',
    always: isHost ? `This host for ${runs}` : port === undefined ? `All of ${runs}` : `Any port of ${runs}`,
  };
  return words[choice];
}

/** The effect of the widest approval, shown before its confirmation. */
export function widestLabel(
  approval: Pick<WaitingApproval, 'arguments' | 'owner' | 'tool'>,
  user: string,
): string {
  const { owner } = approval;
  const subject = owner === user ? 'Your agents' : `The agents of ${owner}`;
  const whom = owner === user ? 'asking you' : 'asking anyone';
  const destination = destinationOf(approval);
  const what =
    destination !== undefined
      ? `connect to ${destination}`
      : isShare(approval)
        ? 'share any port like this'
        : 'open any port';
  return `${subject} can then ${what} without ${whom}, in all current and future runs. Press again to confirm.`;
}

/** Other requests that an approval may also approve. */
export function mayCover(
  approval: WaitingApproval,
  choice: Choice,
  waiting: readonly WaitingApproval[],
): readonly WaitingApproval[] {
  if (choice === 'once' || choice === 'deny' || choice === 'never') return [];
  const { keepsPort, everyRun } = POLICY_SCOPES[choice];
  return waiting.filter(
    (other) =>
      other.request_id !== approval.request_id &&
      other.tool === approval.tool &&
      (everyRun ? other.owner === approval.owner : other.run_id === approval.run_id) &&
      (!keepsPort || portOf(other) === portOf(approval)),
  );
}

/** The result of a decision. `also`: other pending requests approved by it. */
export function decidedLabel(
  approval: Pick<WaitingApproval, 'arguments' | 'owner' | 'tool'>,
  choice: Choice,
  user: string,
  also: readonly Pick<WaitingApproval, 'arguments'>[] = [],
): string {
  const port = portOf(approval);
  const destination = destinationOf(approval);
  const what = targetOf(approval) ?? 'the request';
  if (choice === 'never') return `${what} is now on the deny list of the sandbox.`;
  if (choice === 'deny') return `Denied ${what}. If the agent asks again, you decide again.`;
  if (choice === 'once') return `Approved ${what} once.`;
  const others = alsoLabel(also);
  if (choice === 'port') return `Approved ${what} for this run.${others} Other ports are still asked about.`;
  const every = destination ?? (port === undefined ? 'everything' : 'any port');
  const denied = ' What you denied in a run is still asked about.';
  if (choice === 'run') return `Approved ${every} of this run.${others}${denied}`;
  const runs = approval.owner === user ? 'all your runs' : `all runs of ${approval.owner}`;
  return `Approved ${every} of ${runs}.${others}${denied} To undo it, press “Ask again” on the Runs page.`;
}

function alsoLabel(also: readonly Pick<WaitingApproval, 'arguments'>[]): string {
  const ports = [...new Set(also.map(portOf))].filter((port) => port !== undefined);
  if (also.length === 0) return '';
  if (ports.length === 0 || ports.length > 5) return ` ${also.length} waiting requests are approved too.`;
  if (ports.length === 1) return ` Port ${ports[0]} was waiting and is approved too.`;
  return ` Ports ${ports.slice(0, -1).join(', ')} and ${ports.at(-1)} were waiting and are approved too.`;
}
