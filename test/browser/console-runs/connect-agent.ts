import { expect, test } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { violations, watch } from '../support/console-fixture.ts';
import type { ConsoleSuite } from '../support/console-suite.ts';

const URL_OF = /"url": "([^"]+)"/;
const TOKEN_OF = /Bearer ([\w.-]+)/;

/** How a new run's page connects an agent. */
export function connectAgent(here: ConsoleSuite): void {
  test('shows on a new run how an agent connects, and turns green at its first call', async () => {
    const page = await here.browser.newPage();
    const watched = watch(page);
    await page.goto(`${here.porthole.host.url}/`);
    await page.getByRole('button', { name: 'New run' }).first().click();
    await page.getByRole('textbox', { name: 'Title' }).fill('For my agent');
    await page.getByRole('button', { name: 'Start run', exact: true }).click();
    const panel = page.getByRole('region', { name: 'Connect your agent' });
    await panel.getByText('Waiting for your agent…').waitFor();
    const shown = () => panel.locator('pre').textContent();
    expect(await shown()).toMatch(/^claude mcp add --transport http porthole /);
    for (const client of [
      'VS Code',
      'Codex',
      'OpenAI Agents, AI SDK, LangGraph',
      'Any MCP client',
      'TypeScript',
      'Python',
      'Cursor',
    ]) {
      await panel.getByRole('button', { name: 'Client' }).click();
      await page.getByRole('option', { name: client, exact: true }).click();
      await panel.getByRole('group', { name: `Configuration for ${client}` }).waitFor();
      expect(await shown()).toContain(new URL(here.porthole.host.url).host);
    }
    expect(await violations(page)).toEqual([]);
    const call = async (text: string) => {
      const client = new Client({ name: 'an agent', version: '1.0.0' });
      const headers = { authorization: `Bearer ${TOKEN_OF.exec(text)?.[1]}` };
      const address = new URL(URL_OF.exec(text)?.[1] ?? '');
      await client.connect(new StreamableHTTPClientTransport(address, { requestInit: { headers } }));
      await client.close();
    };
    const first = (await shown()) ?? '';
    await call(first);
    await panel.getByText('Your agent is connected').waitFor();
    await page.getByRole('button', { name: /^Timeline/ }).click();
    await page.locator('.timeline').getByText('Agent connected').waitFor();

    // A token is shown once: after a reload a new one replaces it.
    await page.reload();
    await page.getByRole('button', { name: 'Connect your agent' }).click();
    await panel.getByRole('button', { name: 'New token' }).click();
    await panel.getByText('Waiting for your agent…').waitFor();
    await panel.getByRole('button', { name: 'Client' }).click();
    await page.getByRole('option', { name: 'Cursor', exact: true }).click();
    await panel.getByRole('group', { name: 'Configuration for Cursor' }).waitFor();
    await expect(call(first)).rejects.toThrow(/Unauthorized|401/);
    await call((await shown()) ?? '');
    await panel.getByText('Your agent is connected').waitFor();
    expect(watched.problems).toEqual([]);
    await page.context().close();
  });
}
