import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const url = new URL('/mcp', process.env['PORTHOLE_URL'] ?? 'http://127.0.0.1:8787');
const token = process.env['PORTHOLE_API_KEY'];
if (!token) throw new Error('Set PORTHOLE_API_KEY to the agent_token of a run: POST /api/runs.');
const headers = { authorization: `Bearer ${token}` };
const client = new Client({ name: 'scripted-task', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
const call = async (name: string, given: Readonly<Record<string, unknown>>) => {
  const result = await client.callTool({ name, arguments: given });
  for (const part of result.content) if (part.type === 'text') process.stdout.write(`${part.text}\n`);
};

await call('write_file', { path: 'package.json', content: '{"name": "app"}' });
await call('write_file', { path: 'app.js', content: 'serve(' });
await call('run_command', { command: 'npm install' });
const server = { name: 'web', command: 'node app.js', port: 3000, restart: 'never' };
await call('start_server', server);
await call('start_preview', { port: 3000 });
await call('server_logs', { name: 'web' });
const app = "require('http').createServer((_, answer) => answer.end('Hello')).listen(3000)";
await call('edit_file', { path: 'app.js', old_text: 'serve(', new_text: app });
await call('start_server', server);
await call('start_preview', { port: 3000 });
await client.close();
