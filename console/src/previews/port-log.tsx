import { addressOf } from '../api/client.ts';
import { useAnswer } from '../live/use-live.ts';
import { Loading, Problem } from '../parts/feedback.tsx';
import { LogView } from '../sandboxes/log-view.tsx';

interface PortLogProps {
  readonly sandboxId: string;
  readonly port: number;
  /** The process that listens, if that is known. */
  readonly pid: number | undefined;
  /** Changes after each start and exit. */
  readonly seen: string;
}

/** Poll interval in milliseconds, if no event reports changes. */
const ASK_MS = 20_000;

/** The output of the program that serves a port: a declared server, or else a process. */
export function PortLog({ sandboxId, port, pid, seen }: PortLogProps) {
  const path = { id: sandboxId };
  const servers = useAnswer('GET /v1/sandbox/{id}/servers', { path }, ASK_MS, seen);
  const processes = useAnswer('GET /v1/sandbox/{id}/processes', { path }, ASK_MS, seen);
  const problem = servers.problem ?? processes.problem;
  const server = servers.value?.servers.find((each) => each.port === port || each.pid === (pid ?? -1));
  const process = processes.value?.processes.find((each) => each.pid === (pid ?? -1));
  const follow = { follow: true };
  if (server !== undefined) {
    const address = addressOf(
      'GET /v1/sandbox/{id}/servers/{name}/logs',
      { ...path, name: server.name },
      { ...follow, tail: 500 },
    );
    return <LogView key={address} label={`Log of server ${server.name}`} address={address} goesOn />;
  }
  if (process !== undefined) {
    const address = addressOf(
      'GET /v1/sandbox/{id}/processes/{pid}/output',
      { ...path, pid: process.id },
      follow,
    );
    return <LogView key={address} label={`Output on port ${port}`} address={address} goesOn={false} />;
  }
  if (problem !== undefined) return <Problem words={problem} onRetry={servers.reload} />;
  if (servers.value === undefined || processes.value === undefined) return <Loading />;
  return (
    <p className="quiet">
      The program on port {port} has no log here: a terminal or a shell script started it. Porthole keeps the
      output of declared servers and of processes started through its API.
    </p>
  );
}
