/**
 * Sends a descriptor of this process over a Unix socket, as fusermount does: one byte, with the
 * descriptor beside it (unix(7), SCM_RIGHTS). Node itself cannot.
 *
 *     node send-descriptor.mts ADDON SOCKET DESCRIPTOR
 */
import { createRequire } from 'node:module';

const [, , addon = '', socket = '', descriptor = ''] = process.argv;

interface ForeignCalls {
  load(library: null): {
    func(name: string, result: string, parameters: unknown[]): (...values: unknown[]) => number;
  };
  struct(name: string, fields: Record<string, string>): unknown;
}

const calls = createRequire(import.meta.url)(addon) as ForeignCalls;
calls.struct('iovec', { iov_base: 'void *', iov_len: 'size_t' });
calls.struct('msghdr', {
  msg_name: 'void *',
  msg_namelen: 'uint32_t',
  msg_iov: 'iovec *',
  msg_iovlen: 'size_t',
  msg_control: 'void *',
  msg_controllen: 'size_t',
  msg_flags: 'int',
});
const sendmsg = calls.load(null).func('sendmsg', 'long', ['int', 'msghdr *', 'int']);

const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
/** A 64-bit length, level and type, then the descriptor, padded to 8 bytes. */
const control = Buffer.alloc(24);
control.writeBigUInt64LE(20n, 0);
control.writeInt32LE(SOL_SOCKET, 8);
control.writeInt32LE(SCM_RIGHTS, 12);
control.writeInt32LE(Number(descriptor), 16);
const sent = sendmsg(
  Number(socket),
  {
    msg_name: null,
    msg_namelen: 0,
    msg_iov: { iov_base: Buffer.alloc(1), iov_len: 1 },
    msg_iovlen: 1,
    msg_control: control,
    msg_controllen: control.length,
    msg_flags: 0,
  },
  0,
);
process.exit(sent === 1 ? 0 : 1);
