import { randomBytes } from 'node:crypto';
import type { WebSocket } from 'ws';
import { EndScan } from '#adapters/sandboxes/shell/output-scan.ts';
import type { Collection } from '../../client/collection.ts';
import type { ClusterStreams } from '../cluster/cluster-streams.ts';
import { EXEC_SUBPROTOCOL, readMessage } from './channel-frames.ts';
import { readExecStatus } from './exec-status.ts';
import { execPath, type RunningPod } from './running-pod.ts';

/** More output than this, in bytes, is dropped. */
const MAX_OUTPUT = 4 * 1024 * 1024;

export interface PlainOutcome {
  readonly code: number;
  readonly stdout: string;
}

/**
 * Runs its arguments, and prints `$0`, which is a mark, and the exit code behind their output: a
 * Status of success also comes where the node's connection broke.
 */
const WITH_END = '"$@"; echo "$0 $?"';

/**
 * Runs a short command of our own to its end, without input. Its words stand in the URL.
 * @throws KubernetesError where it cannot be started, Error where its end is not told, the signal's reason when it aborts
 */
export async function runPlain(
  streams: ClusterStreams,
  pods: Collection,
  pod: RunningPod,
  argv: readonly string[],
  signal: AbortSignal,
): Promise<PlainOutcome> {
  const mark = randomBytes(8).toString('hex');
  const path = execPath(pods, pod, ['sh', '-c', WITH_END, mark, ...argv], { stdin: false, tty: false });
  const socket = await streams.socket({ path, what: `exec in pods ${pod.name}` }, EXEC_SUBPROTOCOL, signal);
  const abort = (): void => socket.terminate();
  signal.addEventListener('abort', abort);
  try {
    return await outcome(socket, mark);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
    socket.terminate();
  }
}

function outcome(socket: WebSocket, mark: string): Promise<PlainOutcome> {
  return new Promise((resolve, reject) => {
    const end = new EndScan(mark);
    const stdout: Buffer[] = [];
    let bytes = 0;
    socket.on('message', (data: Buffer) => {
      try {
        const message = readMessage(data);
        if (message?.channel === 'stdout') {
          const { output, code } = end.take(message.payload);
          for (const piece of output) {
            if (bytes < MAX_OUTPUT) stdout.push(piece);
            bytes += piece.length;
          }
          if (code !== undefined) resolve({ code, stdout: Buffer.concat(stdout).toString('latin1') });
        }
        if (message?.channel !== 'status') return;
        const status = readExecStatus(message.payload.toString());
        throw new Error(
          status.kind === 'failure'
            ? status.message
            : `sh ended with code ${status.code} without its end mark`,
        );
      } catch (error) {
        reject(error);
      }
    });
    socket.once('close', () => reject(new Error('the connection was lost')));
    socket.resume();
  });
}
