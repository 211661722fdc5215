/** What every guide promises: an agent makes a server, a person approves its preview. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from '@jest/globals';
import { PREVIEW_TOKEN_PATTERN } from '#protocol/preview-words.ts';
import { approvalsAsked, decide } from '#test/host/support/approvals.ts';
import type { MadeRun } from '#test/host/support/runs.ts';
import type { TestHost } from '#test/support/in-process-host.ts';
import type { ScriptedCall } from './scripted-model.ts';

const PREVIEW_HOST = new RegExp(`http://(${PREVIEW_TOKEN_PATTERN}-preview\\.localhost:\\d+)`);
export const PAGE = '<h1>Hello from an agent</h1>';

/** Requests to other machines end at a port where nothing listens. */
export const LOOPBACK_ONLY = {
  HTTP_PROXY: 'http://127.0.0.1:9',
  HTTPS_PROXY: 'http://127.0.0.1:9',
  NO_PROXY: '127.0.0.1,localhost',
};

/** A busy machine imports the packages of an agent in up to half a minute. */
const MAX_PROGRAM_MS = 150_000;

/** An agent with the tools of the MCP server. */
export const MCP_SCRIPT: readonly ScriptedCall[] = [
  { tool: 'write_file', input: { path: 'index.html', content: PAGE } },
  { tool: 'start_server', input: { name: 'web', command: 'python3 -m http.server 3000', port: 3000 } },
  { tool: 'start_preview', input: { port: 3000, check: false } },
];

/** The agent works until it asks; a person approves; its last words have the URL of the page. */
export async function approveAndVisit(
  porthole: TestHost,
  { runId }: MadeRun,
  agent: Promise<string>,
): Promise<void> {
  const stopped = new Error('The agent ended before it asked for a preview');
  const ended = agent.then((output) => Promise.reject(new Error(output, { cause: stopped })));
  const [asked] = await Promise.race([approvalsAsked(porthole, runId), ended]);
  // From here on it ends as it should.
  ended.catch(() => undefined);
  const request_id = asked?.data['request_id'];
  const decided = await decide(porthole, runId, { request_id, decision: 'approve', scope: 'once' });
  expect(decided.status).toBe(200);
  const output = await agent;
  const [, host] = PREVIEW_HOST.exec(output) ?? [];
  if (host === undefined) throw new Error(`The agent named no preview:\n${output}`);
  const { status, text } = await porthole.call('GET', '/', { host });
  expect([status, text]).toEqual([200, PAGE]);
}

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Its stdout; throws with all that it printed. */
export async function runProgram({ command, args, cwd, env }: Program): Promise<string> {
  const running = promisify(execFile)(command, args, { cwd, env, timeout: MAX_PROGRAM_MS });
  running.child.stdin?.end();
  try {
    return (await running).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
    throw new Error(`${command} ${args.join(' ')}\n${stdout}\n${stderr}`, { cause: error });
  }
}
