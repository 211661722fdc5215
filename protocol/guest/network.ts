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
 * Variable of a command with the certificate of its sandbox's authority, in PEM. The guest of a pod
 * writes it into a file for the command's tools; no command sees the variable.
 */
export const AUTHORITY_VARIABLE = 'PORTHOLE_AUTHORITY';

const PROXY = `http://127.0.0.1:${NETWORK.port}`;

/**
 * Variables of every command in a sandbox that has no way out but the guest's proxy.
 * @param direct hosts that commands reach without it
 */
export function proxyEnvironment(direct: readonly string[] = []): Record<string, string> {
  const except = ['localhost', '127.0.0.1', '0.0.0.0', '::1', '.localhost', ...direct].join(',');
  return {
    http_proxy: PROXY,
    HTTP_PROXY: PROXY,
    https_proxy: PROXY,
    HTTPS_PROXY: PROXY,
    no_proxy: except,
    NO_PROXY: except,
    // For tools that ignore the variables above.
    NODE_USE_ENV_PROXY: '1',
    YARN_HTTP_PROXY: PROXY,
    YARN_HTTPS_PROXY: PROXY,
    JAVA_TOOL_OPTIONS: [
      `-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=${NETWORK.port}`,
      `-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=${NETWORK.port}`,
      '-Dhttp.nonProxyHosts=localhost|127.*|[::1]',
    ].join(' '),
  };
}

/**
 * Where a pod's guest reaches the broker, and the token that proves which sandbox it is. The
 * functions send it with each call: a guest that has just started knows neither.
 */
export interface BrokerAccess {
  readonly host: string;
  readonly port: number;
  readonly token: string;
  /** Hosts that commands reach without the proxy. */
  readonly direct: readonly string[];
}

/** Request header with the broker's access. */
export const BROKER_HEADER = 'porthole-broker';

export function brokerHeader({ host, port, token, direct }: BrokerAccess): string {
  return [host, port, token, ...direct].join(' ');
}

/** Undefined for a malformed header. */
export function readBrokerHeader(text: string): BrokerAccess | undefined {
  const [host = '', port = '', token = '', ...direct] = text.trim().split(' ');
  if (host === '' || !/^\d{1,5}$/.test(port) || !/^[\w.-]+$/.test(token)) return undefined;
  return { host, port: Number(port), token, direct };
}

/** The first line of a connection to the broker: its longest form, in bytes. */
export const MAX_BROKER_LINE_BYTES = 2_048;

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
