import type { WebSocket } from 'ws';
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
  const path = execPath(pods, pod, argv, { stdin: false, tty: false });
  const socket = await streams.socket({ path, what: `exec in pods ${pod.name}` }, EXEC_SUBPROTOCOL, signal);
  const abort = (): void => socket.terminate();
  signal.addEventListener('abort', abort);
  try {
    return await outcome(socket);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
    socket.terminate();
  }
}

function outcome(socket: WebSocket): Promise<PlainOutcome> {
  return new Promise((resolve, reject) => {
    const stdout: Buffer[] = [];
    let bytes = 0;
    socket.on('message', (data: Buffer) => {
      try {
        const message = readMessage(data);
        if (message?.channel === 'stdout' && bytes < MAX_OUTPUT) {
          stdout.push(message.payload);
          bytes += message.payload.length;
        }
        if (message?.channel !== 'status') return;
        const status = readExecStatus(message.payload.toString());
        if (status.kind === 'failure') throw new Error(status.message);
        resolve({ code: status.code, stdout: Buffer.concat(stdout).toString('latin1') });
      } catch (error) {
        reject(error);
      }
    });
    socket.once('close', () => reject(new Error('the connection was lost')));
    socket.resume();
  });
}
