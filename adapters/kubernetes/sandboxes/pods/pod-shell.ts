import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { PortholeError } from '#core/errors.ts';
import type { ExecCommand, ExecProcess, GuestAnswer, GuestCall } from '#core/ports/sandbox-provider.ts';
import type { Collection } from '../../client/collection.ts';
import type { KubernetesClient } from '../../client/kubernetes-client.ts';
import { errorFromFailure, KubernetesError } from '../../client/kubernetes-error.ts';
import { type Repetition, retryDelay } from '../../client/retry-delay.ts';
import { checkCommand } from '#adapters/sandboxes/shell/check-command.ts';
import {
  commandScript,
  FOREIGN_WORKSPACE,
  PREPARE_WORKSPACE,
} from '#adapters/sandboxes/shell/command-script.ts';
import { startShellCommand } from '#adapters/sandboxes/shell/shell-command.ts';
import { signalGroup } from '#adapters/sandboxes/shell/signal-group.ts';
import {
  checkPort,
  noCommandRuns,
  sandboxNotRunning,
  transportError,
} from '#adapters/sandboxes/sandbox-errors.ts';
import { find } from '../cluster/await-object.ts';
import type { ClusterStreams } from '../cluster/cluster-streams.ts';
import { createPodDialer, type PodDialer } from '../dial/dial-pod.ts';
import { EXEC_SUBPROTOCOL } from '../exec/channel-frames.ts';
import { ExecChannel } from '../exec/exec-channel.ts';
import { runPlain } from '../exec/run-plain.ts';
import { execPath, type RunningPod } from '../exec/running-pod.ts';
import type { GuestClient } from '#adapters/guest/guest-client.ts';
import { type GuestAccess, PodGuests } from '../guest/pod-guests.ts';
import type { Pod } from './pod.ts';
import { podState } from './pod-state.ts';

/** Longest time for a signal to be sent and for a look at the pod, in milliseconds. */
const POLL_MS = 30_000;

/** A signal that could not be sent is tried again this often. */
const KILL_TRIES = 3;

const WORKSPACE = '/workspace';

/** Of a command that changes nothing the second time. */
const REPEAT: Repetition = { inDoubt: true, conflict: true };

/** Finds the sandbox's pod; rejects as the port says where it cannot take commands. */
export type Locate = () => Promise<RunningPod>;

/** Commands in the pods of a namespace, and streams to their ports. */
export class PodShell {
  readonly #client: KubernetesClient;
  readonly #streams: ClusterStreams;
  readonly #pods: Collection;
  readonly #dialer: PodDialer;
  readonly #kills = new Set<Promise<void>>();
  readonly #guests: PodGuests | undefined;

  constructor(client: KubernetesClient, streams: ClusterStreams, pods: Collection, guest?: GuestAccess) {
    this.#guests = guest && new PodGuests({ ...guest, streams, pods });
    this.#client = client;
    this.#streams = streams;
    this.#pods = pods;
    this.#dialer = createPodDialer(streams, pods);
  }

  async exec(id: string, locate: Locate, exec: ExecCommand, signal?: AbortSignal): Promise<ExecProcess> {
    signal?.throwIfAborted();
    const command = checkCommand(exec);
    const pod = await locate();
    const guest = this.#guest(id, pod);
    if (guest !== undefined) return guest.exec(exec, signal);
    const script = commandScript(command, { WORKSPACE, SANDBOX_ID: id });
    const path = execPath(this.#pods, pod, script.argv, { stdin: true, tty: command.tty !== null });
    const socket = await this.#streams.socket(
      { path, what: `exec in pods ${pod.name}` },
      EXEC_SUBPROTOCOL,
      signal,
    );
    return startShellCommand(
      {
        id,
        command,
        script,
        kill: (group, name) => this.#kill(pod, group, name),
        isUp: () => this.#isUp(pod),
      },
      new ExecChannel(socket),
      signal,
    );
  }

  async dial(id: string, locate: Locate, port: number, signal?: AbortSignal): Promise<Duplex> {
    signal?.throwIfAborted();
    checkPort(port);
    const pod = await locate();
    const guest = this.#guest(id, pod);
    return guest === undefined ? this.#dialer.dial(id, pod, port, signal) : guest.dial(port, signal);
  }

  /** The guest of a pod; undefined where it runs none, or is not called. */
  #guest(id: string, pod: RunningPod): GuestClient | undefined {
    return pod.guestKeys === undefined ? undefined : this.#guests?.client(id, pod);
  }

  /** @see SandboxProvider.callGuest */
  async callGuest(id: string, locate: Locate, call: GuestCall, signal?: AbortSignal): Promise<GuestAnswer> {
    signal?.throwIfAborted();
    const guest = await this.guestOf(id, locate);
    if (guest !== undefined) return guest.call(call, signal);
    throw sandboxNotRunning(id, 'its pod is of before sandboxes ran the guest; stop and resume it');
  }

  /** The guest of a sandbox; undefined where its pod runs none. */
  async guestOf(id: string, locate: Locate): Promise<GuestClient | undefined> {
    return this.#guest(id, await locate());
  }

  /** Resolves once a command has run. */
  async prepare(id: string, pod: RunningPod, signal: AbortSignal): Promise<void> {
    if (pod.guestKeys !== undefined && this.#guests !== undefined) return this.#guests.ready(id, pod, signal);
    for (let tries = 1; ; tries += 1) {
      try {
        const { code } = await runPlain(this.#streams, this.#pods, pod, PREPARE_WORKSPACE, signal);
        if (code === 0 || code === FOREIGN_WORKSPACE) return;
        throw noCommandRuns(id, code);
      } catch (error) {
        signal.throwIfAborted();
        const failure = error instanceof KubernetesError ? error : errorFromFailure('exec', error);
        const delay = retryDelay(failure, tries, REPEAT, Math.random());
        if (delay === undefined)
          throw error instanceof PortholeError ? error : transportError(id, 'no command runs', error);
        await pause(delay, undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    }
  }

  /** Waits for signals that are on their way, and lets go of everything else. */
  async close(): Promise<void> {
    await Promise.all(this.#kills);
    this.#guests?.close();
    this.#streams.close();
  }

  async #isUp({ name, uid, containerId }: RunningPod): Promise<boolean> {
    const now = podState(await find<Pod>(this.#client, this.#pods, name, AbortSignal.timeout(POLL_MS)));
    return now.state === 'running' && now.pod.uid === uid && now.pod.containerId === containerId;
  }

  #kill(pod: RunningPod, group: number, signal: string): Promise<void> {
    const killing = this.#sendSignal(pod, group, signal).finally(() => this.#kills.delete(killing));
    this.#kills.add(killing);
    return killing;
  }

  async #sendSignal(pod: RunningPod, group: number, signal: string): Promise<void> {
    const argv = signalGroup(group, signal);
    for (let tries = 0; tries < KILL_TRIES; tries += 1) {
      try {
        await runPlain(this.#streams, this.#pods, pod, argv, AbortSignal.timeout(POLL_MS));
        return;
      } catch {
        // A pod that has gone has taken the group with it.
        if (!(await this.#isUp(pod).catch(() => true))) return;
      }
    }
  }
}
