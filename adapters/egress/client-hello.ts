/** Enough for a ClientHello with post-quantum keys and many extensions. */
const MAX_HELLO_BYTES = 32 * 1024;

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;

/** Classification of the first bytes of a tunnel. */
export type FirstFlight =
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'other' }
  /** TLS. `name` is undefined where the client sends none. */
  | { readonly kind: 'tls'; readonly name: string | undefined }
  /** Starts as TLS but is malformed. */
  | { readonly kind: 'broken' };

/**
 * Reads the server name that a TLS client asks for (RFC 6066 §3), also from a ClientHello in
 * several records.
 */
export function readFirstFlight(bytes: Buffer): FirstFlight {
  if (bytes.length === 0) return { kind: 'incomplete' };
  if (bytes[0] !== HANDSHAKE) return { kind: 'other' };
  const handshake: Buffer[] = [];
  let have = 0;
  let at = 0;
  while (bytes.length >= at + 5) {
    if (bytes[at] !== HANDSHAKE || bytes[at + 1] !== 3) return { kind: 'broken' };
    const length = bytes.readUInt16BE(at + 3);
    const part = bytes.subarray(at + 5, at + 5 + length);
    handshake.push(part);
    have += part.length;
    at += 5 + length;
    const joined = handshake.length === 1 ? (handshake[0] as Buffer) : Buffer.concat(handshake);
    if (have < 4) continue;
    if (joined[0] !== CLIENT_HELLO) return { kind: 'broken' };
    const size = joined.readUIntBE(1, 3);
    if (size > MAX_HELLO_BYTES) return { kind: 'broken' };
    if (have >= size + 4) return readHello(joined.subarray(4, size + 4));
  }
  return bytes.length > MAX_HELLO_BYTES ? { kind: 'broken' } : { kind: 'incomplete' };
}

function readHello(hello: Buffer): FirstFlight {
  try {
    // Skip version, random, session id, cipher suites and compression methods.
    let at = 34;
    at += 1 + hello.readUInt8(at);
    at += 2 + hello.readUInt16BE(at);
    at += 1 + hello.readUInt8(at);
    if (at === hello.length) return { kind: 'tls', name: undefined };
    const end = at + 2 + hello.readUInt16BE(at);
    if (end !== hello.length) return { kind: 'broken' };
    at += 2;
    while (at < end) {
      const type = hello.readUInt16BE(at);
      const length = hello.readUInt16BE(at + 2);
      if (at + 4 + length > end) return { kind: 'broken' };
      if (type === SERVER_NAME) return readServerName(hello.subarray(at + 4, at + 4 + length));
      at += 4 + length;
    }
    return { kind: 'tls', name: undefined };
  } catch {
    // Read past the end.
    return { kind: 'broken' };
  }
}

/** RFC 6066 allows one name per type, and defines one type. */
function readServerName(list: Buffer): FirstFlight {
  const length = list.readUInt16BE(3);
  const isOne = list.readUInt16BE(0) === length + 3 && list.length === length + 5 && list[2] === 0;
  return isOne ? { kind: 'tls', name: list.toString('latin1', 5) } : { kind: 'broken' };
}
