import { expect, test } from '@jest/globals';
import { CloudflareSandboxClient } from '@openai/agents-extensions/sandbox/cloudflare';
import type { UnderTest } from '../bridge.contract.ts';

/** The unmodified client of the bridge in OpenAI's agents SDK. */
export function clientContract(bridge: UnderTest): void {
  test('lets the client of the agents SDK create, execute, write, read, open a terminal, persist, delete and resume', async () => {
    const { port, key } = bridge();
    const client = new CloudflareSandboxClient({ workerUrl: `http://127.0.0.1:${port}`, apiKey: key });
    const session = await client.create();
    expect(await session.running()).toBe(true);

    const reported = await session.execCommand({ cmd: 'echo "it works" && exit 3' });
    expect(reported).toContain('it works');
    expect(reported).toContain('exited with code 3');

    const editor = session.createEditor();
    await editor.createFile({ type: 'create_file', path: "notes/it's 100%.md", diff: '+first\n+second\n' });
    const bytes = await session.readFile({ path: "notes/it's 100%.md" });
    expect(Buffer.from(bytes).toString()).toBe('first\nsecond');
    expect(await session.pathExists('notes')).toBe(true);
    expect(await session.pathExists('nothing')).toBe(false);
    expect(await session.directoryExists('notes')).toBe(true);

    const shown = await session.execCommand({ cmd: 'tty && stty size', tty: true, yieldTimeMs: 2_000 });
    expect(shown).toContain('/dev/pts/');

    const archive = await session.persistWorkspace();
    await session.delete();
    // The id names a new sandbox from here on.
    expect(await session.pathExists('notes')).toBe(false);
    await session.hydrateWorkspace(archive);
    const resumed = await client.resume(session.state);
    expect(Buffer.from(await resumed.readFile({ path: "notes/it's 100%.md" })).toString()).toBe(
      'first\nsecond',
    );
    await resumed.delete();
  }, 120_000);

  test('gives the client of the agents SDK the output and code 124 of a command that takes too long', async () => {
    const { port, key } = bridge();
    const client = new CloudflareSandboxClient({
      workerUrl: `http://127.0.0.1:${port}`,
      apiKey: key,
      timeouts: { execTimeoutMs: 1_500 },
    });
    const session = await client.create();
    const reported = await session.execCommand({ cmd: 'echo began; sleep 60' });
    expect(reported).toContain('began');
    expect(reported).toContain('Command timed out after 1500ms');
    expect(reported).toContain('exited with code 124');
    await session.delete();
  }, 60_000);
}
