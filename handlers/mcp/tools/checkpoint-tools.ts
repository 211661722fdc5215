import { z } from 'zod';
import { plainText } from '#base/plain-text.ts';
import { performerOf } from '#core/callers.ts';
import type { CheckpointRecord } from '#core/checkpoints/checkpoint-store.ts';
import { type Fork, forkCheckpoint } from '#core/checkpoints/fork-checkpoint.ts';
import { forkWithApproval } from '#core/checkpoints/fork-with-approval.ts';
import { restoreCheckpoint } from '#core/checkpoints/restore-checkpoint.ts';
import { takeCheckpoint } from '#core/checkpoints/take-checkpoint.ts';
import { createRun } from '#core/runs/create-run.ts';
import { compare, Comparison, findCompared } from '../../sandboxes/compare-route.ts';
import { checkpointsOf, findCheckpoint } from '../../sandboxes/find-checkpoint.ts';
import { defineTool, fitting, type ToolContext } from '../mcp-tool.ts';
import { reportWaiting } from './preview-tools.ts';
import { runId, runOf, sandboxOf } from './run-sandbox-tool.ts';

const checkpointId = z.string().min(1).max(200);

const Summary = z.object({
  id: z.string(),
  label: z.string().nullable(),
  cause: z.string(),
  created_at: z.string(),
  files: z.number().int(),
});

function toSummary({ id, label, cause, createdAt, files }: CheckpointRecord): z.infer<typeof Summary> {
  return { id, label, cause, created_at: createdAt.toISOString(), files };
}

const nameOf = ({ id, label, cause }: CheckpointRecord): string => `${id} (${label ?? cause})`;

/** The newest ones. */
const MAX_LISTED = 50;

export const checkpointTool = defineTool({
  name: 'checkpoint',
  title: 'Make or list checkpoints',
  description:
    'Keep the files and declared servers of the sandbox, so that restore can go back to them. Do this before a change that may fail.',
  input: z.strictObject({
    run_id: runId,
    label: z.string().trim().min(1).max(200).optional().describe('For people'),
    list: z.boolean().default(false).describe('Make none, only list them'),
  }),
  output: z.object({
    made: z.string().nullable(),
    current: z.string().nullable().describe('The one that the sandbox is at'),
    checkpoints: z.array(Summary).describe('Oldest first'),
  }),
  annotations: { readOnlyHint: false, destructiveHint: false },
  async run({ run_id, label, list }, context) {
    const { services, caller, signal } = context;
    const deps = checkpointsOf(services);
    const sandbox = await sandboxOf(context, run_id);
    const asked = { label: label ?? null, cause: 'manual', by: performerOf(caller) } as const;
    const made = list ? undefined : (await takeCheckpoint(deps, sandbox, asked, signal)).checkpoint;
    const { checkpoints } = services.records;
    const [all, head] = await Promise.all([checkpoints.list(sandbox), checkpoints.head(sandbox)]);
    const newest = all.slice(-MAX_LISTED);
    const listed = newest.length === 0 ? 'No checkpoints.' : newest.map(nameOf).join('\n');
    return {
      data: {
        made: made?.id ?? null,
        current: head?.checkpointId ?? null,
        checkpoints: newest.map(toSummary),
      },
      text: made === undefined ? listed : `Checkpoint ${nameOf(made)} has ${made.files} files.`,
    };
  },
});

export const restoreTool = defineTool({
  name: 'restore',
  title: 'Restore a checkpoint',
  description:
    'Make the files and declared servers those of a checkpoint. The present is kept in a checkpoint first. Servers restart.',
  input: z.strictObject({ run_id: runId, checkpoint: checkpointId }),
  output: z.object({
    before: z.string().describe('Restore it to go back'),
    written: z.number().int(),
    removed: z.number().int(),
  }),
  annotations: { readOnlyHint: false, destructiveHint: true },
  async run({ run_id, checkpoint: id }, context) {
    const { services, caller, signal } = context;
    const deps = checkpointsOf(services);
    const sandbox = await sandboxOf(context, run_id);
    const checkpoint = await findCheckpoint(services, sandbox, id);
    const by = performerOf(caller);
    const { before, ...done } = await restoreCheckpoint(deps, sandbox, checkpoint, by, signal);
    const text = `Restored ${nameOf(checkpoint)}: ${done.written} written, ${done.removed} removed. To undo it, restore ${before.id}.`;
    return { data: { before: before.id, ...done }, text };
  },
});

const MAX_FORKS = 8;

export const forkTool = defineTool({
  name: 'fork',
  title: 'Fork the sandbox',
  description:
    'Make sandboxes with the same files and declared servers, to try several ways, without its variables. A person may have to approve it.',
  input: z.strictObject({
    run_id: runId,
    count: z.number().int().min(1).max(MAX_FORKS).default(1),
    checkpoint: checkpointId.optional().describe('Default: the present'),
  }),
  output: z.object({
    forks: z.array(z.object({ sandbox_id: z.string(), run_id: z.string().nullable() })),
    errors: z.array(z.string()),
  }),
  annotations: { readOnlyHint: false, destructiveHint: false },
  async run({ run_id, count, checkpoint: id }, context) {
    const { services, caller, signal } = context;
    const deps = checkpointsOf(services);
    const run = await runOf(context, run_id);
    const sandbox = await sandboxOf(context, run.id);
    const named = id === undefined ? undefined : await findCheckpoint(services, sandbox, id);
    const by = performerOf(caller);
    const fork = async () => {
      const asked = { label: null, cause: 'manual', by } as const;
      const checkpoint = named ?? (await takeCheckpoint(deps, sandbox, asked)).checkpoint;
      return forkCheckpoint(deps, sandbox, checkpoint, { count, variables: [], by });
    };
    // A person's key may make sandboxes anyway.
    const forks =
      caller.kind === 'person'
        ? await fork()
        : await forkWithApproval(services, { run, count, checkpoint: named }, fork, {
            signal,
            onWaiting: (approval) => reportWaiting(context, run, approval),
          });
    const made = await Promise.all(
      forks.flatMap((each) => ('sandbox' in each ? [withRun(context, each, run.title)] : [])),
    );
    const errors = forks.flatMap((each) => ('error' in each ? [each.error.message] : []));
    const lines = made.map(
      ({ sandbox_id, run_id: its }) => `Sandbox ${sandbox_id}${its === null ? '' : `, run ${its}`}`,
    );
    return { data: { forks: made, errors }, text: [...lines, ...errors].join('\n') };
  },
});

/** A person works in a fork by its run; to an agent, forks are its owner's. */
async function withRun(
  { services, caller, signal }: ToolContext,
  { sandbox }: Extract<Fork, { sandbox: unknown }>,
  title: string | null,
) {
  if (caller.kind !== 'person') return { sandbox_id: sandbox.id, run_id: null };
  const asked = { title: title ?? undefined, sandboxId: sandbox.id, autoApproveTools: false };
  const { run } = await createRun(services, caller, asked, signal);
  return { sandbox_id: sandbox.id, run_id: run.id };
}

/** Characters of JSON. */
const MAX_JSON_CHARS = 10_000;

export const compareForksTool = defineTool({
  name: 'compare_forks',
  title: 'Compare with a fork',
  description: 'Files and servers that differ from the sandbox to a fork. For pages, look at each.',
  input: z.strictObject({
    run_id: runId,
    fork: z.string().max(400).describe('Its sandbox_id'),
  }),
  output: z.object({
    total: z.number().int(),
    changes: z.array(z.object({ path: z.string(), change: z.string() })),
    servers: Comparison.shape.servers,
  }),
  annotations: { readOnlyHint: true },
  async run({ run_id, fork }, context) {
    const { services, caller, signal } = context;
    const one = await sandboxOf(context, run_id);
    const other = await findCompared(services, caller, one, fork);
    const found = await compare(services, [one, other], [], signal);
    const changes = fitting(
      found.changes.map(({ path, change }) => ({ path: plainText(path, 400), change })),
      MAX_JSON_CHARS,
    );
    const files = changes.map(({ path, change }) => `${change} ${path}`);
    if (found.total > changes.length) files.push(`… and ${found.total - changes.length} more`);
    const servers = found.servers.map(
      ({ name, one: here, other: there }) =>
        `server ${name}: ${here?.state ?? 'none'} here, ${there?.state ?? 'none'} there`,
    );
    const lines = [...files, ...servers];
    return {
      data: { total: found.total, changes, servers: fitting(found.servers, MAX_JSON_CHARS) },
      text: lines.length === 0 ? 'Nothing differs.' : lines.join('\n'),
    };
  },
});
