/**
 * Where a sandbox finds its way out: a proxy of the guest, which passes everything on to the host's
 * broker.
 */
export const NETWORK = {
  /**
   * Of the guest, on 127.0.0.1: HTTP (CONNECT and absolute form) and SOCKS5. Below the range of
   * previews.
   */
  port: 2792,
  /** Of the host's socket, in the folder of the sandbox's channel. */
  socketName: 'network.sock',
  socket: '/run/porthole/network.sock',
  /** The certificates that the machine's own tools trust, beside it. */
  certificatesName: 'certificates.pem',
  certificates: '/run/porthole/certificates.pem',
} as const;

/**
 * What the guest writes before a program's first byte: zero, the port that the program connects
 * from, a newline. Code in the sandbox can forge it, so it only names the command in a question.
 */
export function connectionPreamble(port: number): string {
  return `\0${port}\n`;
}

/** Undefined: more bytes are needed. `length` is 0 where there is no preamble. */
export function readPreamble(
  bytes: Uint8Array,
): { readonly length: number; readonly port: number | undefined } | undefined {
  if (bytes.length === 0) return undefined;
  if (bytes[0] !== 0) return { length: 0, port: undefined };
  const end = bytes.indexOf(10);
  if (end < 0 && bytes.length < 8) return undefined;
  const port = Number(new TextDecoder('latin1').decode(bytes.subarray(1, Math.max(1, end))));
  return { length: end + 1, port: Number.isInteger(port) && port > 0 ? port : undefined };
}
