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
  parseJSONRPCMessage,
  ProtocolErrorCode,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';

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

/** Ends the forwarded request of a call, by its id: Porthole then cancels the call. */
const running = new Map<unknown, AbortController>();

// The client is gone, so there is no one to report to.
process.stdout.once('error', () => process.exit(0));

function say(message: JSONRPCMessage): void {
  if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) running.delete(message.id);
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** JSON-RPC 2.0 section 5: the answer to what is no request has the id null. */
function refuse(code: ProtocolErrorCode, message: string): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } })}\n`);
}

function forward(message: JSONRPCMessage): void {
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
}

function take(line: string): void {
  if (line.trim() === '') return;
  let given: unknown;
  try {
    given = JSON.parse(line);
  } catch (error) {
    return refuse(ProtocolErrorCode.ParseError, `A line must be JSON: ${(error as Error).message}`);
  }
  let message: JSONRPCMessage;
  try {
    message = parseJSONRPCMessage(given);
  } catch {
    return refuse(ProtocolErrorCode.InvalidRequest, 'A line must be one message of JSON-RPC 2.0.');
  }
  forward(message);
}

Object.assign(upstream, {
  onmessage(message: JSONRPCMessage) {
    // Later requests of 2025 carry the negotiated protocol version.
    if (isJSONRPCResultResponse(message) && typeof message.result['protocolVersion'] === 'string') {
      upstream.setProtocolVersion(message.result['protocolVersion']);
    }
    say(message);
  },
});
await upstream.start();

// node:readline also ends a line at U+2028, which JSON permits in a string.
let rest = '';
for await (const piece of process.stdin.setEncoding('utf8') as AsyncIterable<string>) {
  const lines = (rest + piece).split('\n');
  rest = lines.pop() ?? '';
  lines.forEach(take);
}
take(rest);
// The process ends once no request is in flight.
