import { beforeAll, expect, test } from '@jest/globals';
import { callTool, type McpClients, refusal } from '../support/mcp-clients.ts';
import { codeInterpreterMissing } from '#test/support/code-interpreter.ts';
import type { TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { ALICE } from '../support/people.ts';
import { makeRun } from '../support/runs.ts';

export function mcpCode(porthole: () => TestHost, { overHttp }: McpClients): void {
  suite('the tool of code', codeInterpreterMissing, () => {
    let token: string;
    beforeAll(async () => {
      token = (await makeRun(porthole(), ALICE)).agentToken;
    });

    test('keeps variables, and returns output, values, exceptions and pictures', async () => {
      const agent = await overHttp(token);
      await callTool(agent, 'run_code', { code: 'x = 20' });
      const ran = await callTool(agent, 'run_code', { code: 'print("hello")\nx + 1' });
      expect(ran.text).toBe('hello\n\n21');
      expect(ran.structuredContent).toEqual({
        stdout: 'hello\n',
        stderr: '',
        results: ['21'],
        exception: null,
      });
      const failed = await callTool(agent, 'run_code', { code: '1 / 0' });
      expect(failed.text).toMatch(/ZeroDivisionError: division by zero$/);
      // oxlint-disable-next-line no-control-regex -- of a terminal
      expect(failed.text).not.toMatch(/\u001B/);
      const code = 'import matplotlib.pyplot as p\np.plot([1, 2])\np.show()';
      const { content } = await callTool(agent, 'run_code', { code, timeout_seconds: 120 });
      expect(content).toContainEqual(expect.objectContaining({ type: 'image', mimeType: 'image/png' }));
    }, 180_000);

    test('leaves out the middle of long output, and refuses other languages', async () => {
      const agent = await overHttp(token);
      const { structuredContent } = await callTool(agent, 'run_code', { code: 'print("a" * 500_000)' });
      const { stdout } = structuredContent as { stdout: string };
      expect(stdout.length).toBeLessThan(20_000);
      expect(stdout).toMatch(/… \d{6} bytes left out …/);
      const refused = await callTool(agent, 'run_code', { code: '1', language: 'r' });
      expect(refusal(refused)[0]).toBe('invalid_request');
    }, 120_000);
  });
}
