import { plainText } from '#core/rules/plain-text.ts';
import type { Api } from '../api/api.ts';

export type WaitingApproval = Api['GET /api/approvals']['answer']['approvals'][number];

/** The port that a preview is asked for; undefined where something else is. */
export function portOf({ arguments: given }: Pick<WaitingApproval, 'arguments'>): number | undefined {
  const port = given['target_port'];
  return typeof port === 'number' ? port : undefined;
}

/** What is asked, as a question of the console's own: nothing that an agent says stands in it unmarked. */
export function questionOf(approval: Pick<WaitingApproval, 'arguments' | 'tool'>): string {
  const port = portOf(approval);
  if (port === undefined) return `Allow the tool “${plainText(approval.tool, 40)}”?`;
  return approval.arguments['rotate'] === true
    ? `Replace the preview of port ${port}?`
    : `Open a preview of port ${port}?`;
}

/** What that would do. */
export function consequenceOf(approval: Pick<WaitingApproval, 'arguments' | 'message'>): string {
  if (portOf(approval) === undefined) return `It says: “${plainText(approval.message, 300)}”`;
  return approval.arguments['rotate'] === true
    ? 'Its present link ends. Whoever has the new one sees what listens there.'
    : 'Whoever has its link sees what listens there.';
}

/** A run's name, for those who know it by that. */
export function runName({
  run_title: title,
  run_id: id,
}: Pick<WaitingApproval, 'run_id' | 'run_title'>): string {
  const name = plainText(title ?? '', 80);
  return name === '' ? id : name;
}

/** What became of a request that waits no more and that nobody decided here. */
export function endedWords(approval: WaitingApproval, now: number): string {
  const port = portOf(approval);
  const what = port === undefined ? 'A request' : `The request for port ${port}`;
  return now >= Date.parse(approval.expires_at)
    ? `${what} has ended: nobody decided in time.`
    : `${what} no longer waits: somebody decided elsewhere, or its agent has left.`;
}

export type Choice = 'once' | 'run' | 'always' | 'deny';

/** What somebody has decided here. */
export function decidedWords(approval: Pick<WaitingApproval, 'arguments'>, choice: Choice): string {
  const port = portOf(approval);
  const what = port === undefined ? '' : ` for port ${port}`;
  if (choice === 'deny') return `Denied${what}.`;
  if (choice === 'once') return `Approved${what}.`;
  return choice === 'run'
    ? `Approved${what}. This run is not asked about again.`
    : `Approved${what}. None of your runs is asked about again, until you take that back on the page of runs.`;
}
