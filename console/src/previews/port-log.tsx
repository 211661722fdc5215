import { useAnswer } from '../live/use-live.ts';
import { Pending } from '../parts/elements.tsx';
import { LogView, processLog, serverLog } from '../sandboxes/log-view.tsx';

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
  if (server !== undefined) {
    const log = serverLog(sandboxId, server.name);
    return <LogView key={log.address} label={`Log of server ${server.name}`} {...log} />;
  }
  if (process !== undefined) {
    const log = processLog(sandboxId, process.id);
    return <LogView key={log.address} label={`Output on port ${port}`} {...log} />;
  }
  if (problem !== undefined || servers.value === undefined || processes.value === undefined) {
    return <Pending words={problem} onRetry={servers.reload} />;
  }
  return (
    <p className="quiet">
      The program on port {port} has no log here: a terminal or a shell script started it. Porthole keeps the
      output of declared servers and of processes started through its API.
    </p>
  );
}
