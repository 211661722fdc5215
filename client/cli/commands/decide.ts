import { type CommandSpec, type Context, readChoice, UsageError } from '../command.ts';
import { APPROVAL_SCOPES } from '../../resources/policies.ts';
import type { Run, WaitingApproval } from '../../resources/run.ts';
import { plain, showTable } from '../print.ts';

const EXAMPLE = 'run_01JABCDEFGHJKMNPQRSTVWXYZ0';

export const approvalsCommand: CommandSpec = {
  name: 'approvals',
  usage: '[run]',
  summary: 'list your pending approvals, in all runs or in one',
  examples: [
    ['porthole approvals', 'what is pending, and until when'],
    [`porthole approvals ${EXAMPLE} --json`, 'of one run, for a program'],
  ],
  async run(context) {
    const { given, porthole, signal } = context;
    const [runId] = given.positionals;
    const waiting = await (runId === undefined
      ? porthole.runs
      : await porthole.run(runId, { signal })
    ).approvals({ signal });
    const rows = waiting.map((each) => [each.request_id, each.run_id, each.expires_at, each.message]);
    const head = ['ID', 'RUN', 'UNTIL', 'REQUEST'];
    return showTable(context, waiting, [head, ...rows], 'Nothing waits for approval.');
  },
};

export const approveCommand: CommandSpec = {
  name: 'approve',
  usage: '<run> [request]',
  summary: 'approve a request of the agent of a run; default: the only pending one',
  options: {
    scope: {
      type: 'string',
      value: 'SCOPE',
      choices: APPROVAL_SCOPES,
      help: `${APPROVAL_SCOPES.join(', ')}; default once`,
    },
  },
  examples: [[`porthole approve ${EXAMPLE} --scope port`, 'this port, for as long as the run goes on']],
  async run(context) {
    const { given, signal } = context;
    const scope = readChoice(given, 'scope', APPROVAL_SCOPES) ?? 'once';
    return decide(context, 'approved', (run, request) => run.approve(request, { scope, signal }));
  },
};

export const denyCommand: CommandSpec = {
  name: 'deny',
  usage: '<run> [request]',
  summary: 'deny a request of the agent of a run',
  options: { reason: { type: 'string', value: 'TEXT', help: 'the agent reads it' } },
  examples: [[`porthole deny ${EXAMPLE} --reason 'use port 3000'`, 'the only pending request']],
  run(context) {
    const { given, signal } = context;
    return decide(context, 'denied', (run, request) => run.deny(request, given.text('reason'), { signal }));
  },
};

async function decide(
  { given, porthole, signal, show, note }: Context,
  done: string,
  send: (run: Run, request: string) => Promise<void>,
): Promise<number> {
  const run = await porthole.run(given.positionals[0] ?? '', { signal });
  const waiting = await run.approvals({ signal });
  const request = given.positionals[1] ?? onlyRequest(run, waiting);
  const message = waiting.find((each) => each.request_id === request)?.message;
  if (message !== undefined) await note(plain(`porthole: ${request} asks: ${message}`));
  await send(run, request);
  const said = message === undefined ? '' : `: ${message}`;
  return show({ request_id: request, decision: done, message }, plain(`${request} ${done}${said}`));
}

function onlyRequest(run: Run, waiting: readonly WaitingApproval[]): string {
  const [first] = waiting;
  if (first !== undefined && waiting.length === 1) return first.request_id;
  if (first === undefined) throw new Error(`Nothing waits for approval in ${run.id}.`);
  const list = waiting.map(({ request_id: id, message }) => `  ${id}  ${plain(message)}`).join('\n');
  throw new UsageError(`name a request. These wait:\n${list}`);
}
