import type { Server } from '../../runs/server.ts';
import type { Context } from '../command.ts';
import { write } from '../write.ts';

/** Copies the output of a server to stderr until the command ends. Rejects if that fails. */
export async function followLog({ streams, signal, note }: Context, server: Server): Promise<void> {
  try {
    for await (const event of server.logs({ tail: 20, signal })) {
      if (event.type === 'stdout' || event.type === 'stderr') await write(streams.stderr, event.data);
      else if (event.type === 'exit') {
        const { code, signal: by } = event.exit;
        await note(`The server ended (${code === null ? (by ?? 'no code') : `code ${code}`})`);
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
