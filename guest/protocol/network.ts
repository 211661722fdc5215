/**
 * Outgoing connections of a sandbox: a proxy of the guest, which forwards everything to the host's
 * broker.
 */
export const NETWORK = {
  /**
   * Port of the guest on 127.0.0.1: HTTP (CONNECT and absolute form) and SOCKS5. Below the range of
   * previews.
   */
  port: 2792,
  /** Name of the host's socket in the folder of the sandbox's channel. */
  socketName: 'network.sock',
  socket: '/run/porthole/network.sock',
  /** The certificates that the machine's own tools trust, in the same folder. */
  certificatesName: 'certificates.pem',
  certificates: '/run/porthole/certificates.pem',
} as const;

/** Variables that name a file of authorities, by the tools that read them. */
export const CERTIFICATE_VARIABLES = [
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'REQUESTS_CA_BUNDLE',
  'PIP_CERT',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'CARGO_HTTP_CAINFO',
] as const;

/**
 * The guest writes this before a program's first byte: zero, the port that the program connects
 * from, a newline. Code in the sandbox can forge it, so it only names the command in an approval
 * request.
 */
export function connectionPreamble(port: number): string {
  return `\0${port}\n`;
}

/** Undefined: more bytes are needed. `length` is 0 if there is no preamble. */
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
