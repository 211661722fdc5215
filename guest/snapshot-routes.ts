import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { frameHead } from '../base/frames.ts';
import { identityRequest, SNAPSHOT } from '../protocol/guest/snapshot-protocol.ts';
import { tarOut } from './files/tar-out.ts';
import { treeIn } from './files/unpack.ts';
import { Workspace } from './files/workspace.ts';
import type { HostSockets } from './host-sockets.ts';
import { RUNS_FOLDER } from './prepare-workspace.ts';
import { readJson } from './read-json.ts';
import { bodyOf, GuestError, type Handler, type Routes } from './router.ts';

/** Time between two pulses, in ms: a sandbox is out of reach for about as long. */
const PULSE_MS = 5;

export interface SnapshotDeps {
  readonly env: Record<string, string>;
  /** The folder of the guest's files outside the workspace. */
  readonly state: string;
  readonly sockets: HostSockets;
  /** How many commands are attached to connections of the host. */
  readonly attached: () => number;
}

/**
 * gVisor cannot save sockets in folders of the host. The guest closes its own, and listens again
 * once the connection of the request has ended: by saving, both in the sandbox that goes on and in
 * each that is restored, or by the host.
 */
export function snapshotRoutes({ env, state, sockets, attached }: SnapshotDeps): Routes<Handler> {
  return {
    'POST /v1/snapshot': async ({ socket }, response) => {
      const commands = attached();
      if (commands > 0) {
        const what = commands === 1 ? 'command is' : 'commands are';
        throw new GuestError('conflict', `${commands} ${what} attached: saving would end them.`);
      }
      sockets.close();
      let pulse: NodeJS.Timeout | undefined;
      socket.once('close', () => {
        clearInterval(pulse);
        void sockets.reopen();
      });
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      await tarOut(new Workspace(state), '/workspace', ALL, async (piece) => {
        const frame = Buffer.concat([frameHead(SNAPSHOT.state, piece.length), piece]);
        await new Promise<void>((resolve) => response.write(frame, () => resolve()));
      });
      response.write(frameHead(SNAPSHOT.ready, 0));
      // gVisor raises no event for a connection that it has closed: the next write fails.
      pulse = setInterval(() => response.write(PULSE), PULSE_MS);
    },
    'PUT /v1/state': async (request, response) => {
      await treeIn(new Workspace(state), bodyOf(request), 0);
      response.writeHead(204).end();
    },
    'PUT /v1/identity': async (request, response) => {
      env['SANDBOX_ID'] = (await readJson(request, identityRequest)).sandbox_id;
      // Credentials of runs in the sandbox that was saved.
      const { HOME: home } = env;
      if (home !== undefined) rmSync(join(home, RUNS_FOLDER), { recursive: true, force: true });
      response.writeHead(204).end();
    },
  };
}

const ALL = { excludes: [], copiesHardLinks: true };
const PULSE = frameHead(SNAPSHOT.pulse, 0);
