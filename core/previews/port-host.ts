/** The server on a port of a sandbox, outside of all runs. */
export interface SandboxPort {
  readonly sandboxId: string;
  readonly targetPort: number;
}

/** Ids of sandboxes as Porthole makes them: with five digits and a hyphen one DNS label. */
const LABEL = /^([1-9]\d{0,4})-([a-z2-7]{1,57})$/;

/** `{port}-{sandbox}.{zone}`, the host of E2B's clients for a port. It can be guessed. */
export function portHost({ sandboxId, targetPort }: SandboxPort, zone: string): string {
  return `${targetPort}-${sandboxId}.${zone}`;
}

/** Case and port of a Host header are ignored; a trailing dot is not. Undefined: another host. */
export function parsePortHost(host: string, zone: string): SandboxPort | undefined {
  const hostname = host.replace(/:\d{1,5}$/, '').toLowerCase();
  if (!hostname.endsWith(`.${zone}`)) return undefined;
  const [, digits, sandboxId] = LABEL.exec(hostname.slice(0, -zone.length - 1)) ?? [];
  const targetPort = Number(digits);
  return sandboxId === undefined || targetPort > 65_535 ? undefined : { sandboxId, targetPort };
}
