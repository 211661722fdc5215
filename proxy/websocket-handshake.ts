import { createHash } from 'node:crypto';
import { namesOption, type ResponseHead } from './upstream/response-head.ts';

/** RFC 6455 section 1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** Whether a Sec-WebSocket-Key is what RFC 6455 asks for: 16 bytes in base64. */
export function isWebSocketKey(key: string | undefined): key is string {
  return key !== undefined && /^[A-Za-z0-9+/]{22}==$/.test(key);
}

/** Whether a 101 is the answer to a handshake with this key, and to nothing else. */
export function acceptsWebSocket(head: ResponseHead, key: string): boolean {
  const expected = createHash('sha1')
    .update(key + GUID)
    .digest('base64');
  return (
    headerOf(head, 'upgrade').join().toLowerCase() === 'websocket' &&
    namesOption(head.connection, 'upgrade') &&
    headerOf(head, 'sec-websocket-accept').join() === expected
  );
}

function headerOf(head: ResponseHead, lowerName: string): string[] {
  return head.rawHeaders.filter(
    (_, at) => at % 2 === 1 && head.rawHeaders[at - 1]?.toLowerCase() === lowerName,
  );
}
