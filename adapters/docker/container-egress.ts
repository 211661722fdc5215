import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { findCarrier, type Carrier } from '#adapters/local/egress/carriers.ts';
import { egressRules } from '#adapters/local/egress/egress-rules.ts';
import { machineNetworks, startEgress } from '#adapters/local/egress/start-egress.ts';
import { isAlive, type ProcessIdentity } from '#adapters/local/process-identity.ts';
import { SYSTEM_PATH } from '#adapters/local/spawn-sandbox.ts';
import { networkNotSupported } from '#adapters/sandboxes/unsupported-spec.ts';
import { containerProcess } from './containers/container-process.ts';

export interface ContainerEgressOptions {
  /** Whether the engine runs on this machine. */
  readonly isLocal: boolean;
  /** The engine's network that every sandbox joins; `none`: their own loopback and nothing else. */
  readonly network: string;
  readonly alsoReachable: readonly string[];
}

/**
 * The way out of containers that the engine gives no network. The engine's own networks filter nothing, and rules for them in the machine's firewall are the machine's owner's to make; so each
 * container keeps its closed network, which root of this machine enters to set its filter there, and then puts a carrier beside it. Nothing in the container has the rights to change that.
 */
export class ContainerEgress {
  readonly #options: ContainerEgressOptions;

  constructor(options: ContainerEgressOptions) {
    this.#options = options;
  }

  /** @throws PortholeError `network_not_supported` with what is missing */
  carrier(): Carrier {
    const { isLocal, network } = this.#options;
    if (network !== 'none')
      throw networkNotSupported(`every sandbox joins ${network}, which Porthole does not filter`);
    if (!isLocal) throw networkNotSupported('the container engine runs on another machine');
    if (process.platform !== 'linux' || process.getuid?.() !== 0) {
      throw networkNotSupported(
        'only root of the container engine’s machine can filter what its containers send',
      );
    }
    const found = findCarrier(['slirp4netns']);
    if ('missing' in found) throw networkNotSupported(found.missing);
    return found.carrier;
  }

  /** Opens a container that runs. May be repeated. @throws PortholeError `network_not_supported`: it is as closed as before */
  async open(containerId: string, signal?: AbortSignal): Promise<void> {
    const carrier = this.carrier();
    const holder = await containerProcess(containerId);
    if (holder === undefined)
      throw networkNotSupported('the containers of this engine are not seen from here');
    await filter(
      holder,
      egressRules({ carrier, ...machineNetworks(), alsoReachable: this.#options.alsoReachable }),
    );
    await startEgress({ carrier, holder, joinsUser: false, owner: undefined }, signal);
  }
}

async function filter(holder: ProcessIdentity, rules: string): Promise<void> {
  const child = spawn('nsenter', [`--net=/proc/${holder.pid}/ns/net`, '--', 'nft', '--file', '-'], {
    cwd: '/',
    env: SYSTEM_PATH,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    if (said.length < 2_048) said += chunk.toString();
  });
  child.stdin.on('error', () => {});
  child.stdin.end(rules);
  const [code] = (await once(child, 'close')) as [number | null];
  // Its number may be another process's by now.
  if (code === 0 && isAlive(holder)) return;
  throw networkNotSupported(`its packets cannot be filtered (${said.split('\n')[0]?.slice(0, 200) ?? ''})`);
}
