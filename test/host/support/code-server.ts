import { CODE_PORT } from '#protocol/guest/code-protocol.ts';
import type { TestHost } from '#test/support/in-process-host.ts';

/** Answers each request at once, and is no interpreter. */
const POLITE = `
  const context = { id: 'a', language: 'python', cwd: '/' };
  if (request.url === '/execute') response.end('{"type":"end_of_execution"}\\n');
  else if (request.method === 'GET') response.end(JSON.stringify([context]));
  else if (request.url === '/contexts') response.end(JSON.stringify(context));
  else response.writeHead(204).end();`;

/**
 * A server in a sandbox where its code interpreter is expected, for tests of everything around it.
 * @param answer JavaScript with `request` and `response`
 */
export async function declareCodeServer(
  porthole: TestHost,
  sandboxId: string,
  token: string,
  answer = POLITE,
): Promise<void> {
  const listen = `require('node:http').createServer((request, response) => {${answer}}).listen(${CODE_PORT}, '127.0.0.1')`;
  const sandbox = `/v1/sandbox/${sandboxId}`;
  const server = { argv: ['node', '-e', listen], port: CODE_PORT };
  await porthole.call('PUT', `${sandbox}/servers/code-interpreter`, { token, body: server });
  await porthole.call('POST', `${sandbox}/ports/${CODE_PORT}/wait`, { token, body: {} });
}
