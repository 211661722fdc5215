import type { PreviewProxy } from '#adapters/gateway/preview-proxy.ts';
import type { PreviewPlane } from '#core/ports/preview-plane.ts';
import type { SandboxProvider } from '#core/ports/sandbox-provider.ts';

/** Where sandboxes and previews live, wired: all that differs between one machine and a cluster. */
export interface Platform {
  readonly provider: SandboxProvider;
  /** Which installation the provider's sandboxes belong to, among those that share a database. */
  readonly place: string;
  readonly plane: PreviewPlane;
  /** The data path of previews, where this very process carries it. */
  readonly gateway: PreviewProxy | undefined;
  /** What `GET /health` warns of. */
  readonly warnings: () => readonly string[];
  /** One line for a person at the terminal, once everything about it is known. */
  describe(): Promise<string>;
  /** Tells where the server listens: known only once it does. */
  listening(port: number): void;
  /** Finishes what an earlier process left undone, where nobody else does. */
  recover(signal: AbortSignal): Promise<void>;
  /** Lets go of connections and listeners. On one machine sandboxes stop running; their files and the previews stay. */
  close(): Promise<void>;
}
