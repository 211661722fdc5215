import { createHash } from 'node:crypto';
import { z } from 'zod';
import { requirePerson } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import { createRun } from '#core/runs/create-run.ts';
import { findRun } from '#core/runs/find-run.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import { findSessionRun, startSessionRun } from '#core/runs/session-run.ts';
import { findSandbox } from '#core/sandboxes/resume-sandbox.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { readySandbox } from '#core/sandboxes/use-sandbox.ts';
import { portNumber } from '../../http/read-input.ts';
import { defineTool, type ToolContext } from '../mcp-tool.ts';

export const runId = z.string().max(200).optional().describe('Default: the current');

export const port = portNumber.describe('Where the server listens in the sandbox');

export const filePath = z
  .string()
  .min(1)
  .max(4_096)
  .describe('Within /workspace; a relative path starts there');

/**
 * The run, for its owner, an admin, or its own agent. Without `runId`: the agent's own run, or the
 * run that `start_run` created in this session.
 * @throws PortholeError like `findRun`; `invalid_request` if the session has no run
 */
export async function runOf(context: ToolContext, runId: string | undefined): Promise<RunRecord> {
  const id = runId ?? (await impliedRun(context))?.id;
  if (id !== undefined) return findRun(context.services, context.caller, id, { agents: true });
  throw new PortholeError('invalid_request', 'run_id: this session has no run.', {
    remedy: 'Call start_run first, or pass the run_id of a run.',
  });
}

/**
 * The sandbox of a run, for callers who may use it.
 * @throws PortholeError like `runOf` and `findSandbox`
 */
export async function sandboxOf(context: ToolContext, runId: string | undefined): Promise<SandboxRecord> {
  const { sandboxId } = await runOf(context, runId);
  const sandbox = await findSandbox(context.services, context.caller, sandboxId, { agents: true });
  return readySandbox(context.services, sandbox);
}

async function impliedRun(context: ToolContext): Promise<Pick<RunRecord, 'id'> | undefined> {
  const { services, caller } = context;
  if (caller.kind === 'agent') return { id: caller.runId };
  const sessionKey = sessionKeyOf(context);
  if (caller.kind !== 'person' || sessionKey === undefined) return undefined;
  return findSessionRun(services, caller, sessionKey);
}

/** Hashed, because the client chooses the id of its session: a session key has a bounded form. */
function sessionKeyOf({ sessionId }: ToolContext): string | undefined {
  if (sessionId === undefined) return undefined;
  return `mcp-${createHash('sha256').update(sessionId).digest('hex').slice(0, 32)}`;
}

export const startRunTool = defineTool({
  name: 'start_run',
  title: 'Start a run',
  description:
    'Get a run: a sandbox to work in, and its previews. The first call of a session makes it, later calls return it. The other tools work in it without run_id.',
  input: z.strictObject({
    title: z.string().max(200, 'at most 200 characters').optional().describe('What the run is for'),
  }),
  output: z.object({
    run_id: z.string(),
    sandbox_id: z.string(),
    is_new: z.boolean().describe('False for a run that this session or agent had before'),
  }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
  async run({ title }, context) {
    const known = await impliedRun(context);
    const run = known === undefined ? await makeRun(context, title) : await runOf(context, known.id);
    const text = `Run ${run.id} works in sandbox ${run.sandboxId}.`;
    const isImplied = context.caller.kind === 'agent' || context.sessionId !== undefined;
    return {
      data: { run_id: run.id, sandbox_id: run.sandboxId, is_new: known === undefined },
      text: isImplied ? text : `${text} Pass its run_id to the other tools.`,
    };
  },
});

async function makeRun(context: ToolContext, title: string | undefined): Promise<RunRecord> {
  const { services, signal } = context;
  const person = requirePerson(context.caller, 'make runs');
  const sessionKey = sessionKeyOf(context);
  if (sessionKey !== undefined) return startSessionRun(services, person, { sessionKey, title });
  return (await createRun(services, person, { title, autoApproveTools: false }, signal)).run;
}
