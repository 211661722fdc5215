/**
 * `npm run --silent mcp`: the Model Context Protocol over stdin and stdout, for clients that start
 * their servers. Forwards everything to the /mcp of a running Porthole: `PORTHOLE_URL` is its
 * address, `PORTHOLE_TOKEN` the credential, if it requires one.
 */
import {
  isInitializedNotification,
  isJSONRPCRequest,
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  ProtocolErrorCode,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

const address = process.env['PORTHOLE_URL'] ?? 'http://127.0.0.1:8787';
const token = process.env['PORTHOLE_TOKEN'];

/** The message for a client after a message could not be forwarded. */
function remedy(error: unknown): string {
  const { status, message = String(error) } = error as { status?: unknown; message?: string };
  if (status === 401 || status === 403 || /unauthorized/i.test(message)) {
    return token === undefined
      ? 'Porthole asks for a credential: set PORTHOLE_TOKEN to a key of yours or to the token of an agent.'
      : 'Porthole does not accept the credential in PORTHOLE_TOKEN: set it to your API key or to the agent token of an active run.';
  }
  if (typeof status === 'number') return `Porthole at ${address} answers with status ${status}.`;
  return `Porthole cannot be reached at ${address}: start it with npm start, or set PORTHOLE_URL.`;
}

const upstream = new StreamableHTTPClientTransport(
  new URL('mcp', address.endsWith('/') ? address : `${address}/`),
  {
    requestInit: token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
  },
);
const client = new StdioServerTransport();

/** Ends the forwarded request of a call, by its id: Porthole then cancels the call. */
const running = new Map<unknown, AbortController>();

const say = (message: JSONRPCMessage): void => {
  if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) running.delete(message.id);
  // The client is gone, so there is no one to report to.
  client.send(message).catch(() => process.exit(0));
};
Object.assign(upstream, {
  onmessage(message: JSONRPCMessage) {
    // Later requests of 2025 carry the negotiated protocol version.
    if (isJSONRPCResultResponse(message) && typeof message.result['protocolVersion'] === 'string') {
      upstream.setProtocolVersion(message.result['protocolVersion']);
    }
    say(message);
  },
});
Object.assign(client, {
  onmessage(message: JSONRPCMessage) {
    // The server has no stream to open after it.
    if (isInitializedNotification(message)) return;
    if ('method' in message && message.method === 'notifications/cancelled') {
      const id = message.params?.['requestId'];
      running.get(id)?.abort();
      running.delete(id);
      return;
    }
    const ending = new AbortController();
    if (isJSONRPCRequest(message)) running.set(message.id, ending);
    upstream.send(message, { requestSignal: ending.signal }).catch((error: unknown) => {
      if (!isJSONRPCRequest(message) || ending.signal.aborted) return;
      const { id } = message;
      say({ jsonrpc: '2.0', id, error: { code: ProtocolErrorCode.InternalError, message: remedy(error) } });
    });
  },
  onclose: () => process.exit(0),
});
process.stdin.once('end', () => process.exit(0));

await upstream.start();
await client.start();
