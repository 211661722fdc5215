/** What is read of a container. */
export interface FoundContainer {
  readonly Id: string;
  readonly Name: string;
  readonly Config: { readonly Labels?: Readonly<Record<string, string>> | null };
  readonly State: {
    readonly Status: string;
    readonly StartedAt: string;
    readonly ExitCode?: number;
    readonly OOMKilled?: boolean;
    readonly Error?: string;
  };
}

/** A container that commands can run in. */
export interface RunningContainer {
  readonly containerId: string;
  /** Which start of it this is. */
  readonly startedAt: string;
}

/** What a container is to its sandbox. */
export type ContainerState =
  | { readonly state: 'running'; readonly container: RunningContainer }
  /** Made, and not started yet. */
  | { readonly state: 'creating'; readonly reason: string }
  | { readonly state: 'paused'; readonly reason: string }
  /** Nothing but another container would help. */
  | { readonly state: 'ended'; readonly reason: string };

export function containerState({ Id, State }: FoundContainer): ContainerState {
  switch (State.Status) {
    case 'running':
      return { state: 'running', container: { containerId: Id, startedAt: State.StartedAt } };
    case 'created':
      return { state: 'creating', reason: 'its container is about to start' };
    case 'paused':
      return { state: 'paused', reason: 'its container is paused' };
    default:
      return { state: 'ended', reason: whyEnded(State) };
  }
}

function whyEnded({ Status, ExitCode, OOMKilled, Error: error }: FoundContainer['State']): string {
  if (OOMKilled === true) return 'its container ran out of memory';
  if (error !== undefined && error !== '') return `its container has ended: ${error.slice(0, 500)}`;
  return Status === 'exited' && ExitCode !== undefined
    ? `its container has ended with code ${ExitCode}`
    : `its container is ${Status.slice(0, 50)}`;
}
