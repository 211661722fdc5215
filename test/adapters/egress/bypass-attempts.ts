/**
 * Attempts to bypass a sandbox's network policy. None may return what the machine's server says.
 */
export interface BypassAttempt {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** Latin-1; sent at once. */
  readonly bytes: string;
}

const PROXY = { host: '127.0.0.1', port: 2792 } as const;

/** Spellings of this machine, its metadata service and its network as hosts. */
const SPELLINGS = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '0',
  '0.0.0.0',
  '0x7f.0.0.1',
  '0x7f000001',
  '0177.0.0.1',
  '017700000001',
  '2130706433',
  '127.0.0.1.',
  '127.255.255.254',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '[fe80::1]',
  '[fd00:ec2::254]',
  'localhost',
  'localhost.',
  'LOCALHOST',
  'porthole.localhost',
  '169.254.169.254',
  '0xa9fea9fe',
  '2852039166',
  '100.100.100.200',
  '10.0.0.1',
  '192.168.0.1',
  '172.16.0.1',
  '198.18.0.1',
  '100.64.0.1',
  'loop.example.com',
  'LOOP.example.com.',
  'both.example.com',
  'mapped.example.com',
  'meta.example.com',
  'ten.example.com',
  'link.example.com',
  'zero.example.com',
  'rebind.example.com',
  'rebind.example.com',
  'api.example.com@127.0.0.1',
  'api.example.com#@127.0.0.1',
  '127.0.0.1%00.api.example.com',
  'ⓛocalhost',
  'loc\u00adalhost',
  '１２７.0.0.1',
  '127。0。0。1',
  '[::ffff:0:127.0.0.1]',
  '[0:0:0:0:0:ffff:127.0.0.1]',
  '[2001:0:7f00:1::]',
  'api.example.com\0.127.0.0.1',
  'api.example.com,127.0.0.1',
] as const;

export function bypassAttempts({
  port,
  machinePort,
}: {
  readonly port: number;
  readonly machinePort: number;
}): BypassAttempt[] {
  const get = (host: string) => `GET / HTTP/1.0\r\nHost: ${host}\r\n\r\n`;
  const socks = (kind: number, address: string) =>
    `\x05\x01\0\x05\x01\0${String.fromCharCode(kind)}${address}${String.fromCharCode(machinePort >> 8, machinePort & 255)}`;
  const outside = `api.example.com:${port}`;
  const through = (name: string, bytes: string) => ({ name, ...PROXY, bytes });
  const named = SPELLINGS.flatMap((host) => {
    const bare = host.replace(/^\[(.*)\]$/, '$1');
    const at = `${host}:${machinePort}`;
    return [
      through(`CONNECT ${at}`, `CONNECT ${at} HTTP/1.1\r\nHost: ${at}\r\n\r\n${get(at)}`),
      through(`GET http://${at}/`, `GET http://${at}/ HTTP/1.1\r\nHost: ${at}\r\nConnection: close\r\n\r\n`),
      through(`SOCKS5 ${host}`, `${socks(3, `${String.fromCharCode(bare.length)}${bare}`)}${get(at)}`),
      through(
        `GET http://${at}/ with the Host of another`,
        `GET http://${at}/ HTTP/1.1\r\nHost: ${outside}\r\nConnection: close\r\n\r\n`,
      ),
    ];
  });
  const machine = `127.0.0.1:${machinePort}`;
  const smuggled = `GET http://${machine}/ HTTP/1.1\r\nHost: ${machine}\r\n\r\n`;
  const to = `http://${outside}`;
  const requests: readonly [string, string][] = [
    ['SOCKS5 by IPv4', `${socks(1, '\x7f\0\0\x01')}${get(machine)}`],
    ['SOCKS5 by IPv6', `${socks(4, `${'\0'.repeat(15)}\x01`)}${get(machine)}`],
    ['SOCKS5 by mapped IPv4', `${socks(4, `${'\0'.repeat(10)}\xff\xff\x7f\0\0\x01`)}${get(machine)}`],
    ['SOCKS5 BIND', socks(3, '\x09localhost').replace('\x05\x01\0\x03', '\x05\x02\0\x03')],
    ['SOCKS5 with a password alone', `\x05\x01\x02${get(machine)}`],
    [
      'SOCKS4',
      `\x04\x01${String.fromCharCode(machinePort >> 8, machinePort & 255)}\x7f\0\0\x01\0${get(machine)}`,
    ],
    ['an origin form', `GET / HTTP/1.1\r\nHost: ${machine}\r\n\r\n`],
    ['Host of another', `GET ${to}/ HTTP/1.1\r\nHost: secret.example.com\r\nConnection: close\r\n\r\n`],
    [
      'two Hosts',
      `GET ${to}/ HTTP/1.1\r\nHost: ${outside}\r\nHost: secret.example.com\r\nConnection: close\r\n\r\n`,
    ],
    ['a user in the URL', `GET http://${outside}@${machine}/ HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['a backslash in the URL', `GET http://${machine}\\@${outside}/ HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['https in absolute form', `GET https://${machine}/ HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['ftp in absolute form', `GET ftp://${machine}/ HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['file in absolute form', 'GET file:///etc/shadow HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a redirect that is followed here', `GET ${to}/redirect HTTP/1.1\r\nHost: x\r\n\r\n${smuggled}`],
    ['a second request', `GET ${to}/ HTTP/1.1\r\nHost: x\r\n\r\n${smuggled}`],
    [
      'CL and TE',
      `POST ${to}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    ],
    [
      'two lengths',
      `POST ${to}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 9\r\n\r\n${smuggled}`,
    ],
    [
      'a chunk of a wrong size',
      `POST ${to}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n${smuggled}`,
    ],
    [
      'an obsolete coding',
      `POST ${to}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`,
    ],
    ['a bare LF', `GET ${to}/ HTTP/1.1\nHost: x\n\n${smuggled}`],
    ['a folded header', `GET ${to}/ HTTP/1.1\r\nHost: x\r\nA: b\r\n Host: ${machine}\r\n\r\n`],
    ['a NUL in a header', `GET ${to}/ HTTP/1.1\r\nHost: ${machine}\0\r\n\r\n`],
    [
      'an upgrade to WebSocket',
      `GET http://${machine}/ HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
    ],
    [
      'an upgrade to h2c',
      `GET http://${machine}/ HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AA\r\n\r\n`,
    ],
    ['HTTP/2 with prior knowledge', `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${smuggled}`],
    ['one slash in the URL', `GET http:/${machine}/ HTTP/1.1\r\nHost: x\r\n\r\n`],
    [
      'a Host of the machine',
      `GET ${to}/ HTTP/1.1\r\nHost: ${machine}\r\nProxy-Connection: keep-alive\r\n\r\n${smuggled}`,
    ],
    ['HTTP/1.0 that is kept alive', `GET ${to}/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n${smuggled}`],
    [
      'a trailer that names a host',
      `POST ${to}/ HTTP/1.1\r\nHost: x\r\nTrailer: Host\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nHost: secret.example.com\r\n\r\n${smuggled}`,
    ],
    ['CONNECT with a path', `CONNECT ${machine}/ HTTP/1.1\r\n\r\n${get(machine)}`],
    ['CONNECT with a user', `CONNECT ${outside}@${machine} HTTP/1.1\r\n\r\n${get(machine)}`],
    ['CONNECT to a port with a sign', `CONNECT 127.0.0.1:+${machinePort} HTTP/1.1\r\n\r\n${get(machine)}`],
    ['CONNECT to a port with zeros', `CONNECT 127.0.0.1:0${machinePort} HTTP/1.1\r\n\r\n${get(machine)}`],
    ['SOCKS5 UDP ASSOCIATE', socks(3, '\x09localhost').replace('\x05\x01\0\x03', '\x05\x03\0\x03')],
    ['SOCKS5 with a NUL in the name', `${socks(3, '\x19api.example.com\0.127.0.0.1')}${get(machine)}`],
    [
      'SOCKS4a',
      `\x04\x01${String.fromCharCode(machinePort >> 8, machinePort & 255)}\0\0\0\x01\0localhost\0${get(machine)}`,
    ],
    ['HTTP/0.9', `GET http://${machine}/\r\n`],
    ['CONNECT without a port', `CONNECT 127.0.0.1 HTTP/1.1\r\n\r\n${get(machine)}`],
    ['CONNECT to port 0', `CONNECT 127.0.0.1:0 HTTP/1.1\r\n\r\n${get(machine)}`],
    [
      'CONNECT to a port past the end',
      `CONNECT api.example.com:${machinePort + 65_536} HTTP/1.1\r\n\r\n${get(machine)}`,
    ],
    ['CONNECT with a URL', `CONNECT http://${machine}/ HTTP/1.1\r\n\r\n${get(machine)}`],
    ['CONNECT with two colons', `CONNECT api.example.com:80:${machine} HTTP/1.1\r\n\r\n${get(machine)}`],
    ['DNS over HTTPS', `CONNECT dns.example.com:443 HTTP/1.1\r\n\r\n`],
    [
      'a preamble in the request',
      `\x00${machinePort}\n\x00${machinePort}\nCONNECT ${machine} HTTP/1.1\r\n\r\n${get(machine)}`,
    ],
    ['nothing but a preamble', '\x0099999999\n'],
    [
      'Proxy-Authorization',
      `GET http://${machine}/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic Og==\r\n\r\n`,
    ],
    [
      'X-Forwarded-Host',
      `GET ${to}/ HTTP/1.1\r\nHost: x\r\nX-Forwarded-Host: ${machine}\r\nConnection: close\r\n\r\n`,
    ],
  ];
  const direct = [
    '127.0.0.1',
    '127.0.0.2',
    '169.254.169.254',
    '10.0.2.2',
    '172.17.0.1',
    '198.18.0.1',
    '1.1.1.1',
    '::1',
    'fe80::1',
    '2606:4700::1111',
  ].map((host) => ({ name: `directly to ${host}`, host, port: machinePort, bytes: get(machine) }));
  return [...named, ...requests.map(([name, bytes]) => through(name, bytes)), ...direct].map(
    (attempt, index) => ({ ...attempt, name: `${index} ${attempt.name}` }),
  );
}

/**
 * Runs in the sandbox with Node: makes each attempt, and prints its name and the first 400 bytes of
 * the answer.
 */
export const attemptScript = `
  const net = require('net');
  const table = JSON.parse(process.argv[1]);
  const said = {};
  const attempt = ({ name, host, port, bytes }) => new Promise((resolve) => {
    let all = '';
    const done = () => { said[name] = all.slice(0, 400); socket.destroy(); resolve(); };
    const socket = net.connect({ host, port });
    socket.setTimeout(2500, done);
    socket.on('data', (chunk) => { all += chunk.toString('latin1'); });
    socket.on('error', (error) => { all += error.code; });
    socket.on('close', done);
    socket.on('connect', () => socket.write(Buffer.from(bytes, 'latin1')));
  });
  (async () => {
    await Promise.all(table.map(attempt));
    console.log(JSON.stringify(said));
  })();
`;
