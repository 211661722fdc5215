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
  usage: '[run] [request]',
  summary: 'approve a request of the agent of a run; default: the only pending one',
  options: {
    scope: {
      type: 'string',
      value: 'SCOPE',
      choices: APPROVAL_SCOPES,
      help: `${APPROVAL_SCOPES.join(', ')}; default once`,
    },
  },
  examples: [
    ['porthole approve', 'the only pending request in all runs'],
    [`porthole approve ${EXAMPLE} --scope port`, 'this port, for as long as the run goes on'],
  ],
  async run(context) {
    const { given, signal } = context;
    const scope = readChoice(given, 'scope', APPROVAL_SCOPES) ?? 'once';
    return decide(context, 'approved', (run, request) => run.approve(request, { scope, signal }));
  },
};

export const denyCommand: CommandSpec = {
  name: 'deny',
  usage: '[run] [request]',
  summary: 'deny a request of the agent of a run; default: the only pending one',
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
  const [runId, requestId] = given.positionals;
  const named = runId === undefined ? undefined : await porthole.run(runId, { signal });
  const waiting = await (named ?? porthole.runs).approvals({ signal });
  const only = requestId === undefined ? onlyRequest(waiting, runId) : undefined;
  const request = requestId ?? only?.request_id ?? '';
  const run = named ?? (await porthole.run(only?.run_id ?? '', { signal }));
  const message = waiting.find((each) => each.request_id === request)?.message;
  if (message !== undefined) await note(plain(`porthole: ${request} asks: ${message}`));
  await send(run, request);
  const said = message === undefined ? '' : `: ${message}`;
  return show({ request_id: request, decision: done, message }, plain(`${request} ${done}${said}`));
}

function onlyRequest(waiting: readonly WaitingApproval[], runId: string | undefined): WaitingApproval {
  const [first] = waiting;
  if (first !== undefined && waiting.length === 1) return first;
  if (first === undefined) {
    throw new Error(`Nothing waits for approval${runId === undefined ? '' : ` in ${runId}`}.`);
  }
  const lines = waiting.map((each) => `  ${each.run_id} ${each.request_id}  ${plain(each.message)}`);
  throw new UsageError(`name a run and a request. These wait:\n${lines.join('\n')}`);
}
