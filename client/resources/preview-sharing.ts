import type {
  Api,
  CreatePreviewLinkRequest,
  PreviewAccess,
  PreviewLink,
  PreviewPass,
  PreviewViewer,
  SetPreviewAccessRequest,
} from '../api.ts';
import type { HttpClient } from '../http/http-client.ts';
import { PortholeError } from '../http/porthole-error.ts';
import type { CallOptions } from './files.ts';

export type { PreviewAccess, PreviewLink, PreviewViewer } from '../api.ts';

export type AccessLevel = PreviewAccess['level'];

/** A link with its URL, which no later call returns. */
export type CreatedPreviewLink = Api['POST /v1/previews/{id}/links']['answer'];

export interface AccessOptions extends CallOptions {
  /** For the level `password`: at least 8 characters. */
  readonly password?: string | undefined;
  /**
   * It also answers at `https://{name}-preview.{zone}`, unless its level is `link`. Null gives the
   * name back. @default - the one that it has
   */
  readonly name?: string | null | undefined;
}

export interface LinkOptions extends CallOptions {
  /** Whom it is for. */
  readonly label: string;
  /** Who may use it. @default link: everyone who has it */
  readonly level?: PreviewLink['level'] | undefined;
  /** Visitors are asked for it; at least 8 characters. */
  readonly password?: string | undefined;
  /** @default - it does not expire */
  readonly expiresInSeconds?: number | undefined;
  /** How many visitors may come by it. @default - any number */
  readonly maxUses?: number | undefined;
  /** Whether its visitors may start the preview while it is stopped. @default false */
  readonly mayWake?: boolean | undefined;
}

/** Who may open a live preview. Only the owner of its run and admins may ask and decide. */
export class PreviewSharing {
  readonly #http: HttpClient;
  readonly #path: string;

  /** @param preview its `session_id` */
  constructor(http: HttpClient, preview: string) {
    this.#http = http;
    this.#path = `v1/previews/${encodeURIComponent(preview)}`;
  }

  access({ signal }: CallOptions = {}): Promise<PreviewAccess> {
    return this.#http.json(`GET ${this.#path}/access`, { signal });
  }

  /** Changes the level, also for later previews of the port. All visits end. */
  setAccess(level: AccessLevel, { password, name, signal }: AccessOptions = {}): Promise<PreviewAccess> {
    const json: SetPreviewAccessRequest = {
      level,
      ...(password !== undefined && { password }),
      ...(name !== undefined && { name }),
    };
    return this.#http.json(`PUT ${this.#path}/access`, { json, signal });
  }

  /** A link that lets its holders in at any level. */
  createLink({
    label,
    level,
    password,
    expiresInSeconds,
    maxUses,
    mayWake,
    signal,
  }: LinkOptions): Promise<CreatedPreviewLink> {
    const json: CreatePreviewLinkRequest = {
      label,
      ...(level !== undefined && { level }),
      ...(password !== undefined && { password }),
      ...(expiresInSeconds !== undefined && { expires_in: expiresInSeconds }),
      ...(maxUses !== undefined && { max_uses: maxUses }),
      ...(mayWake === true && { may_wake: true }),
    };
    return this.#http.json(`POST ${this.#path}/links`, { json, signal });
  }

  /** Oldest first. */
  links({ signal }: CallOptions = {}): Promise<readonly PreviewLink[]> {
    return this.#http.list('links', `GET ${this.#path}/links`, { signal });
  }

  /** Ends the link. Those who came by it lose the preview at once. */
  revokeLink(id: string, { signal }: CallOptions = {}): Promise<void> {
    return this.#http.done(`DELETE ${this.#path}/links/${encodeURIComponent(id)}`, { signal });
  }

  /**
   * For the header `X-Porthole-Pass` of a program's requests, for ten minutes. Undefined if
   * everyone who has the URL may open it, or if the caller may not.
   */
  async pass({ signal }: CallOptions = {}): Promise<string | undefined> {
    try {
      const { pass } = await this.#http.json<PreviewPass>(`POST ${this.#path}/pass`, {
        isIdempotent: true,
        signal,
      });
      return pass ?? undefined;
    } catch (error) {
      if (error instanceof PortholeError && (error.status === 403 || error.status === 404)) return undefined;
      throw error;
    }
  }

  /** Who opened the preview, the last first. Not at the level `link`, which needs no visit. */
  viewers({ signal }: CallOptions = {}): Promise<readonly PreviewViewer[]> {
    return this.#http.list('viewers', `GET ${this.#path}/viewers`, { signal });
  }
}
