import type { RunRecord } from '#core/runs/run-records.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { findRun } from '#core/runs/find-run.ts';
import { findSandbox } from '#core/sandboxes/resume-sandbox.ts';
import { readySandbox } from '#core/sandboxes/use-sandbox.ts';
import type { ToolContext } from '../mcp-tool.ts';

/**
 * The run, for its owner, an admin, or its own agent. @throws PortholeError what `findRun` throws
 */
export function runOf({ services, caller }: ToolContext, runId: string): Promise<RunRecord> {
  return findRun(services, caller, runId, { agents: true });
}

/**
 * The sandbox of a run, for those who may use it. @throws PortholeError what `findRun` and
 * `findSandbox` throw
 */
export async function sandboxOf(context: ToolContext, runId: string): Promise<SandboxRecord> {
  const { sandboxId } = await runOf(context, runId);
  const sandbox = await findSandbox(context.services, context.caller, sandboxId, { agents: true });
  return readySandbox(context.services, sandbox);
}
