/** Node's own decoder is ten times as fast. */
interface NodeBuffer {
  readonly from: (text: string, encoding: 'base64') => Uint8Array;
}
const nodeBuffer = (globalThis as { readonly Buffer?: NodeBuffer }).Buffer;

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Decodes base64 (RFC 4648, section 4, with its padding).
 * @throws SyntaxError for anything else
 */
export function fromBase64(text: string): Uint8Array {
  if (!BASE64.test(text)) throw new SyntaxError('not base64');
  if (nodeBuffer !== undefined) return nodeBuffer.from(text, 'base64');
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
