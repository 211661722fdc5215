import { type CommandSpec, type Context, readChoice, UsageError } from '../command.ts';
import { APPROVAL_SCOPES } from '../../runs/policies.ts';
import type { Run } from '../../runs/run.ts';

const EXAMPLE = 'run_01JABCDEFGHJKMNPQRSTVWXYZ0';

export const approveCommand: CommandSpec = {
  name: 'approve',
  usage: '<run> [request]',
  summary: 'approve what the agent of a run asks for; without a request, the only one that waits',
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
  summary: 'deny what the agent of a run asks for',
  options: { reason: { type: 'string', value: 'TEXT', help: 'the agent reads it' } },
  examples: [[`porthole deny ${EXAMPLE} --reason 'use port 3000'`, 'the only request that waits']],
  run(context) {
    const { given, signal } = context;
    return decide(context, 'denied', (run, request) => run.deny(request, given.text('reason'), { signal }));
  },
};

async function decide(
  { given, porthole, signal, print }: Context,
  done: string,
  send: (run: Run, request: string) => Promise<void>,
): Promise<number> {
  const run = await porthole.run(given.positionals[0] ?? '', { signal });
  const request = given.positionals[1] ?? (await onlyRequest(run, signal));
  await send(run, request);
  await print(
    given.is('json') ? JSON.stringify({ request_id: request, decision: done }) : `${request} ${done}`,
  );
  return 0;
}

async function onlyRequest(run: Run, signal: AbortSignal): Promise<string> {
  const waiting = await run.approvals({ signal });
  const [first] = waiting;
  if (first !== undefined && waiting.length === 1) return first.request_id;
  if (first === undefined) throw new Error(`Nothing waits for approval in ${run.id}.`);
  throw new UsageError(`name a request: ${waiting.map(({ request_id: id }) => id).join(', ')} wait.`);
}
