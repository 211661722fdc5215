import { z } from 'zod';
import { resolveWorkspacePath } from '#base/workspace-path.ts';
import { portInfo, portState } from '#protocol/guest/ports-protocol.ts';
import { processId, processInfo, processList } from '#protocol/guest/processes-protocol.ts';
import { serverInfo, serverList, serverName } from '#protocol/guest/servers-protocol.ts';
import { SandboxPath } from '../sandboxes/sandbox-path.ts';

/** The guest's schema as a response schema: the document always matches the validation. */
function documented(schema: z.core.$ZodType, id: string, description: string): z.ZodType {
  z.globalRegistry.add(schema, { id, description });
  return schema as z.ZodType;
}

export const ProcessDto = documented(
  processInfo,
  'Process',
  'A process that outlives its request. `exit.reason`: `exited`, `killed`, `timed_out`, `out_of_memory`, `sandbox_stopped`, `expired`. `output` has the cursors of the first byte kept and of the end.',
);
export const ProcessListDto = documented(
  processList,
  'ProcessList',
  'Those that run and the last 100 that exited, newest first',
);
export const ServerDto = documented(
  serverInfo,
  'Server',
  'A declared server. `state`: `starting`, `ready`, `waiting` (it ended and starts again after a delay), `failed`, `exited`, `stopped`.',
);
export const ServerListDto = documented(serverList, 'ServerList', 'By name');
export const PortStateDto = documented(portState, 'PortState', 'Who listens; null when it is closed');
export const PortListDto = z
  .object({ ports: z.array(documented(portInfo, 'Port', 'A port on which something listens')) })
  .meta({ id: 'PortList' });

export const ProcessPath = SandboxPath.extend({
  pid: z
    .string()
    .max(200)
    .describe('Process id, as POST …/processes returns it')
    .meta({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
});
export const ServerPath = SandboxPath.extend({
  name: z
    .string()
    .refine((name) => serverName.safeParse(name).success, 'must be 1 to 63 of a-z, 0-9 and -, not at an end')
    .describe('Name of a declared server')
    .meta({ pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$', example: 'web' }),
});

/** A malformed id is treated as an unknown process. */
export function isProcessId(id: string): boolean {
  return processId.safeParse(id).success;
}

const Text = z.string('must be a string').regex(/^[^\0]*$/, 'must not contain a NUL character');

export const Argv = z
  .array(Text, 'must be a list of strings')
  .refine(([program]) => program !== undefined && program !== '', 'must name a program')
  .describe('Runs directly, without a shell');

/** What a process or a server runs. */
export const runnable = {
  argv: Argv.optional().meta({ example: ['npm', 'run', 'dev'] }),
  command: Text.min(1, 'must not be empty').optional().describe('A line for the shell, instead of argv'),
  cwd: z.string('must be a string').optional().describe('Within /workspace, the default'),
  env: z
    .record(z.string().regex(/^[^=\0]+$/, 'a name has no "=" and is not empty'), Text)
    .optional()
    .describe("Added to the sandbox's own variables"),
};

export const oneRunnable = ({ argv, command }: { argv?: unknown; command?: unknown }): boolean =>
  (argv === undefined) !== (command === undefined);
export const ONE_RUNNABLE = 'takes exactly one of argv and command';

/** The body for the guest: without missing fields, and with an absolute folder. */
export function toRunnable<T extends { cwd?: string | undefined }>(body: T): Present<T> {
  const cwd = body.cwd === undefined ? {} : { cwd: resolveWorkspacePath(body.cwd, 'cwd') };
  const entries = Object.entries({ ...body, ...cwd }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Present<T>;
}

type Present<T> = { [Key in keyof T]: Exclude<T[Key], undefined> };

export const timeout = (longest: number) =>
  z.int('must be a whole number').min(0, 'must not be negative').max(longest, `must be at most ${longest}`);
