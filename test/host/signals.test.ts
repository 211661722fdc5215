import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { constants } from 'node:os';
import type { ProcessInfo } from '#protocol/guest/processes-protocol.ts';
import { exitCodeOfSignal, signalName } from '#protocol/guest/signals.ts';
import { runPorthole } from '#test/client/support/porthole-command.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { exitCodeOfSignal as codeForClient } from '../../client/cli/exit-code-of-signal.ts';
import { execute } from './support/commands.ts';
import { callTool, mcpClients } from './support/mcp-clients.ts';
import { ALICE, PEOPLE } from './support/people.ts';
import { type MadeRun, makeRun } from './support/runs.ts';
import { openTerminal } from './support/terminals.ts';

/** These end no program: they are ignored, or stop it. */
const HARMLESS = new Set(
  (['SIGCHLD', 'SIGCONT', 'SIGURG', 'SIGWINCH', 'SIGSTOP', 'SIGTSTP', 'SIGTTIN', 'SIGTTOU'] as const).map(
    (name) => constants.signals[name],
  ),
);
const ALL = [...Array.from({ length: 31 }, (_, at) => at + 1), 34, 64];
const ENDING = ALL.filter((number) => !HARMLESS.has(number));
const EXPECTED = ENDING.map((number) => [number, 128 + number]);
/** A terminal and an MCP call take longer; the path from the guest is the same for all signals. */
const SOME = [3, 8, 16, 31, 34, 64];

let porthole: TestHost;
let run: MadeRun;
const clients = mcpClients(() => porthole);

beforeAll(async () => {
  porthole = await startTestHost(PEOPLE);
  run = await makeRun(porthole, ALICE, { auto_approve_tools: true });
});
afterAll(() => porthole.end());

/** A program that ends by the signal: shells ignore some signals that they send themselves. */
const killing = (number: number) => `exec env kill -${number} $$`;

/** What a path makes of each signal, one after the other. */
async function codes(
  numbers: readonly number[],
  run: (number: number) => Promise<unknown>,
): Promise<unknown[][]> {
  const found: unknown[][] = [];
  for (const number of numbers) found.push([number, await run(number)]);
  return found;
}

test('has one number for each name, here and in the client', () => {
  const names = ALL.map(signalName);
  expect(names.map(exitCodeOfSignal)).toEqual(ALL.map((number) => 128 + number));
  expect(names.map(codeForClient)).toEqual(ALL.map((number) => 128 + number));
  const known = names.slice(0, 31).map((name) => constants.signals[name as NodeJS.Signals]);
  expect(known).toEqual(ALL.slice(0, 31));
});

test.each([
  ['exec', {}],
  ['exec in a folder, which has a standard input', { cwd: '/workspace' }],
])('gives 128 + n for each signal that ends a command of %s', async (_name, options) => {
  const found = await codes(ENDING, async (number) => {
    const argv = ['bash', '-c', killing(number)];
    return (await execute(porthole, run.sandboxId, argv, { token: ALICE, ...options })).exitCode;
  });
  expect(found).toEqual(EXPECTED);
});

test.each([false, true])('names each signal that ends a process; with stdin: %s', async (stdin) => {
  const found = await codes(ENDING, async (number) => {
    const path = `/v1/sandbox/${run.sandboxId}/processes`;
    const body = { argv: ['bash', '-c', killing(number)], stdin };
    const { id } = (await porthole.call('POST', path, { token: ALICE, body })).json<ProcessInfo>();
    const ended = await porthole.call('POST', `${path}/${id}/wait`, { token: ALICE, body: {} });
    const { exit } = ended.json<ProcessInfo>();
    await porthole.call('DELETE', `${path}/${id}`, { token: ALICE });
    return exit?.code === null ? exit.signal : exit;
  });
  expect(found).toEqual(ENDING.map((number) => [number, signalName(number)]));
});

test('gives 128 + n in a terminal', async () => {
  const found = await codes(SOME, async (number) => {
    const terminal = await openTerminal(porthole.host.port, run.sandboxId, { token: ALICE });
    terminal.type(`${killing(number)}\n`);
    await terminal.closed;
    return terminal.reported.find(({ type }) => type === 'exit')?.['code'];
  });
  expect(found).toEqual(SOME.map((number) => [number, 128 + number]));
});

test('gives 128 + n over MCP', async () => {
  const client = await clients.overHttp(run.agentToken);
  const found = await codes(SOME, async (number) => {
    const { structuredContent } = await callTool(client, 'run_command', { command: killing(number) });
    return structuredContent?.['exit_code'];
  });
  expect(found).toEqual(SOME.map((number) => [number, 128 + number]));
});

test.each([[[]], [['-i']]])('gives 128 + n by `porthole exec %j`', async (options: string[]) => {
  const environment = { PORTHOLE_URL: porthole.host.url, PORTHOLE_API_KEY: ALICE };
  const found = await codes(SOME, async (number) => {
    const words = ['exec', run.sandboxId, ...options, '--', 'bash', '-c', killing(number)];
    return (await runPorthole(words, environment)).code;
  });
  expect(found).toEqual(SOME.map((number) => [number, 128 + number]));
});
