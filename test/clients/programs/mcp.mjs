/** The MCP SDKs for TypeScript: version 1 in one package, and the client of version 2. */
import assert from 'node:assert/strict';
import { equal, finish, step } from './steps.mjs';

const [package_] = process.argv.slice(2);
const isFirst = package_ === '@modelcontextprotocol/sdk';
const { Client } = await import(isFirst ? `${package_}/client/index.js` : package_);
const { StreamableHTTPClientTransport } = await import(
  isFirst ? `${package_}/client/streamableHttp.js` : package_
);
const headers = { authorization: `Bearer ${process.env.PORTHOLE_AGENT_TOKEN}` };
const client = new Client({ name: 'matrix', version: '1.0.0' });
const call = async (name, input) => {
  const result = await client.callTool({ name, arguments: input });
  const text = result.content.map((part) => part.text ?? '').join('\n');
  if (result.isError) throw new Error(text);
  return text;
};
await step(
  'connect',
  () =>
    client.connect(
      new StreamableHTTPClientTransport(new URL(`${process.env.PORTHOLE_URL}/mcp`), {
        requestInit: { headers },
      }),
    ),
  { needed: true },
);
await step('list tools', async () => {
  assert.ok((await client.listTools()).tools.some(({ name }) => name === 'start_preview'));
});
await step('list resources', async () => assert.ok((await client.listResources()).resources.length > 0));
await step('write', () => call('write_file', { path: 'a.txt', content: 'hello' }));
await step('read', async () => assert.match(await call('read_file', { path: 'a.txt' }), /hello/));
await step('list', async () => assert.match(await call('list_files', {}), /a\.txt/));
await step('command', async () =>
  assert.match(await call('run_command', { command: 'echo $((6 * 7))' }), /42/),
);
await step('tool that fails', async () => {
  const { isError } = await client.callTool({ name: 'read_file', arguments: { path: 'none' } });
  equal(isError, true);
});
await step('preview', async () => {
  await call('start_server', { name: 'web', command: 'python3 -m http.server 3000', port: 3000 });
  assert.match(await call('start_preview', { port: 3000, check: false }), /-preview\.localhost/);
});
await step('close', () => client.close());
finish();
