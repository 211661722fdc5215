import * as z from 'zod/mini';
import { readPlain, replacePlain } from '../plain-file.ts';
import { isOutdated } from '../../proxy/access/access-gate.ts';
import { idleByPort } from './visitor-connections.ts';
import {
  MAX_OPEN_PREVIEWS,
  type OpenPreviewRequest,
  openPreviewRequest,
  type OpenPreviewsAnswer,
} from '../../protocol/guest/previews-protocol.ts';

export interface OpenPreview {
  readonly port: number;
  readonly request: OpenPreviewRequest;
  /** Whether it was closed: its visitors get a page that says so. */
  closed: boolean;
  /** By `performance.now()`. */
  lastUsedAt: number | undefined;
  bytesIn: number;
  bytesOut: number;
}

const storedPreviews = z.array(z.object({ port: z.int(), closed: z.boolean(), request: openPreviewRequest }));

const MAX_BYTES = 1024 * 1024;

/** The previews that the guest serves, by the name of their public host. */
export class OpenPreviews {
  readonly #file: string;
  readonly #byHost = new Map<string, OpenPreview>();
  #bytes = 0;

  /**
   * @param file stores them, so that previews outlive a replaced pod as the workspace does. Its
   * content is not trusted: code that can write to it could also answer in the guest's place. It
   * grants no access, because the functions create the routes.
   */
  constructor(file: string) {
    this.#file = file;
  }

  /** Of all previews since the start, in both directions. */
  get bytes(): number {
    return this.#bytes;
  }

  count(host: string, fromVisitor: number, toVisitor: number): void {
    const preview = this.find(host);
    if (preview === undefined) return;
    preview.bytesIn += fromVisitor;
    preview.bytesOut += toVisitor;
    this.#bytes += fromVisitor + toVisitor;
  }

  /**
   * Reads the previews of an earlier guest. Skips unreadable ones: the next start of a preview
   * opens it again.
   */
  load(): void {
    try {
      const { success, data } = z.safeParse(
        storedPreviews,
        JSON.parse(readPlain(this.#file, MAX_BYTES).toString()),
      );
      if (!success) throw new Error('it has another shape');
      for (const { port, request, closed } of data.slice(-MAX_OPEN_PREVIEWS)) {
        if (this.find(request.host) === undefined) this.#put(port, request, closed);
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      warn(`${this.#file} is not read (${String(error)}): previews open again when they are started.`);
    }
  }

  /**
   * Opens or updates a preview and stores it if possible. A closed preview that opens again counts
   * as unused.
   */
  open(port: number, request: OpenPreviewRequest): void {
    const known = this.find(request.host);
    // Functions may overtake each other.
    const isLate = isOutdated(request.access, known?.request.access);
    const access = isLate ? known?.request.access : request.access;
    // A change of the access says nothing about it.
    const mapsLocalhost = request.maps_localhost ?? known?.request.maps_localhost;
    const opened = { ...request, access, maps_localhost: mapsLocalhost };
    this.#put(port, opened, false, known?.port === port && !known.closed ? known : {});
    this.#save();
  }

  /** False if no such preview is open. */
  close(port: number, host: string): boolean {
    const known = this.find(host);
    if (known === undefined || known.port !== port || known.closed) return false;
    known.closed = true;
    this.#save();
    return true;
  }

  /** Finds a preview by a Host header, with or without a port. */
  find(host: string): OpenPreview | undefined {
    return this.#byHost.get(hostnameOf(host));
  }

  /** Finds a preview that is open to visitors with a ticket at a host by name. */
  findNamed(host: string): OpenPreview | undefined {
    const name = hostnameOf(host);
    return this.all().findLast(({ closed, request: { access } }) => {
      if (closed || access?.named_host === undefined || access.level === 'link') return false;
      return hostnameOf(access.named_host) === name;
    });
  }

  /** The most recently opened last. */
  all(): OpenPreview[] {
    return [...this.#byHost.values()];
  }

  /** Notes the connections of direct previews. False if none is open. */
  noteConnections(): boolean {
    const direct = this.all().filter(
      ({ closed, request }) =>
        !closed && request.direct === true && Date.now() < Date.parse(request.expires_at),
    );
    if (direct.length === 0) return false;
    const idle = idleByPort(new Set(direct.map(({ port }) => port)));
    const now = performance.now();
    for (const preview of direct) {
      const ms = idle.get(preview.port);
      if (ms !== undefined) preview.lastUsedAt = Math.max(now - ms, preview.lastUsedAt ?? 0);
    }
    return true;
  }

  answer(): OpenPreviewsAnswer {
    this.noteConnections();
    const now = performance.now();
    const open = this.all().filter((preview) => !preview.closed);
    return {
      previews: open.map(({ port, request: { host, access }, lastUsedAt, bytesIn, bytesOut }) => ({
        port,
        host,
        idle_ms: lastUsedAt === undefined ? null : Math.round(now - lastUsedAt),
        bytes_in: bytesIn,
        bytes_out: bytesOut,
        ...(access !== undefined && { access_epoch: access.epoch, named_host: access.named_host }),
      })),
    };
  }

  /** The most recently opened last. */
  #put(
    port: number,
    request: OpenPreviewRequest,
    closed: boolean,
    { lastUsedAt, bytesIn = 0, bytesOut = 0 }: Partial<OpenPreview> = {},
  ): void {
    const name = hostnameOf(request.host);
    this.#byHost.delete(name);
    this.#byHost.set(name, { port, request, closed, lastUsedAt, bytesIn, bytesOut });
    for (const [oldest] of this.#byHost) {
      if (this.#byHost.size <= MAX_OPEN_PREVIEWS) break;
      this.#byHost.delete(oldest);
    }
  }

  #save(): void {
    const stored = this.all().map(({ port, closed, request }) => ({ port, closed, request }));
    try {
      replacePlain(this.#file, JSON.stringify(stored));
    } catch (error) {
      warn(`${this.#file} is not written (${String(error)}): previews end with this guest.`);
    }
  }
}

function warn(message: string): void {
  process.stderr.write(`${message}\n`);
}

/** In lower case, without its port. */
export function hostnameOf(host: string): string {
  return host.replace(/:\d{1,5}$/, '').toLowerCase();
}
