/** The TCP sockets that listen in this network namespace. */
import { readFileSync } from 'node:fs';
import { endianness } from 'node:os';
import { type Library, ofLibrary } from '../base/foreign-calls.ts';

export interface ListeningSocket {
  readonly address: string;
  readonly port: number;
  readonly inode: string;
}

export const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];

/** TCP_LISTEN. */
const LISTEN = 10;

const ask = ofLibrary(openSocketDiagnosis);
let cannotAsk = false;

/**
 * From the kernel's answer about listening sockets alone, in microseconds; from its tables where it
 * gives none, as in gVisor.
 */
export function listeningSockets(): ListeningSocket[] {
  const sockets = cannotAsk ? undefined : ask()?.();
  cannotAsk = sockets === undefined;
  return sockets ?? readListeners();
}

const [AF_INET, AF_INET6, AF_NETLINK, SOCK_DIAG] = [2, 10, 16, 4];
const SOCK_RAW_CLOEXEC = 0o2000003;
const MSG_DONTWAIT = 0x40;
const IPPROTO_TCP = 6;
const [SOCK_DIAG_BY_FAMILY, NLMSG_DONE] = [20, 3];
const NLM_F_REQUEST_DUMP = 0x301;
/** Sizes of `nlmsghdr`, `inet_diag_req_v2` and `inet_diag_msg`. */
const [HEADER, REQUEST, ANSWER] = [16, 56, 72];

/**
 * Opens a socket of sock_diag(7); the function asks it. The kernel answers in the caller's thread:
 * nothing waits.
 */
export function openSocketDiagnosis(libc: Library): () => ListeningSocket[] | undefined {
  // Netlink has the machine's byte order; what follows reads little-endian.
  if (endianness() !== 'LE') return () => undefined;
  const send = libc.func('send', 'long', ['int', 'void *', 'size_t', 'int']);
  const receive = libc.func('recv', 'long', ['int', 'void *', 'size_t', 'int']);
  const file = libc.func('socket', 'int', ['int', 'int', 'int'])(AF_NETLINK, SOCK_RAW_CLOEXEC, SOCK_DIAG);
  const content = Buffer.alloc(64 * 1024);
  if (file < 0) return () => undefined;
  let sequence = 0;

  const dump = (family: number): ListeningSocket[] | undefined => {
    sequence = (sequence + 1) >>> 0;
    const request = Buffer.alloc(HEADER + REQUEST);
    request.writeUInt32LE(request.length, 0);
    request.writeUInt16LE(SOCK_DIAG_BY_FAMILY, 4);
    request.writeUInt16LE(NLM_F_REQUEST_DUMP, 6);
    request.writeUInt32LE(sequence, 8);
    request.writeUInt8(family, HEADER);
    request.writeUInt8(IPPROTO_TCP, HEADER + 1);
    request.writeUInt32LE(1 << LISTEN, HEADER + 4);
    if (send(file, request, request.length, 0) !== request.length) return undefined;
    const sockets: ListeningSocket[] = [];
    for (;;) {
      const length = receive(file, content, content.length, MSG_DONTWAIT);
      if (length < HEADER) return undefined;
      for (let at = 0; at + HEADER <= length; ) {
        const size = content.readUInt32LE(at);
        const type = content.readUInt16LE(at + 4);
        if (size < HEADER || at + size > length) return undefined;
        // The rest of a dump that was given up.
        if (content.readUInt32LE(at + 8) === sequence) {
          if (type === NLMSG_DONE) return sockets;
          if (type !== SOCK_DIAG_BY_FAMILY || size < HEADER + ANSWER) return undefined;
          sockets.push(readAnswer(content.subarray(at + HEADER, at + size)));
        }
        at += (size + 3) & ~3;
      }
    }
  };
  return () => {
    const [four, six] = [dump(AF_INET), dump(AF_INET6)];
    return four && six && [...four, ...six];
  };
}

/** An `inet_diag_msg`. */
function readAnswer(answer: Buffer): ListeningSocket {
  const length = answer[0] === AF_INET ? 4 : 16;
  return {
    port: answer.readUInt16BE(4),
    address: addressOf(answer.subarray(8, 8 + length)),
    inode: String(answer.readUInt32LE(68)),
  };
}

/**
 * The same from the kernel's tables, where it gives no such answer. It takes milliseconds: they
 * include the connections of the whole machine.
 */
export function readListeners(): ListeningSocket[] {
  return TABLES.flatMap((table) =>
    readTable(table).flatMap(([, local = '', , state = '', , , , , , inode = '']) =>
      Number.parseInt(state, 16) === LISTEN ? [{ ...readEnd(local), inode }] : [],
    ),
  );
}

/** One end of a connection, as the tables write it. */
export function readEnd(end: string): { readonly address: string; readonly port: number } {
  const [address = '', port = ''] = end.split(':');
  // Words of 32 bits, each in the machine's own (little endian) order.
  return { port: Number.parseInt(port, 16), address: addressOf(Buffer.from(address, 'hex').swap32()) };
}

/** Lines by field: number, local address, remote address, state, …; the tenth is the inode. */
export function readTable(path: string): string[][] {
  try {
    return readFileSync(path, 'latin1')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/));
  } catch {
    // No IPv6, or no /proc.
    return [];
  }
}

function addressOf(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.every((byte) => byte === 0)) return '::';
  if (bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff)
    return bytes.subarray(12).join('.');
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  return groups.join(':').replace(/(^|:)0(:0)+(:|$)/, '::');
}
