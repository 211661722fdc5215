import type { HttpClient } from '../http/http-client.ts';
import type { CallOptions } from '../sandboxes/files.ts';

/** An element of a page: what is known of it. Its texts are the page's: untrusted. */
export interface PageElement {
  /** CSS. */
  readonly selector: string;
  /** ARIA role. */
  readonly role: string | null;
  /** Accessible name. */
  readonly name: string | null;
  readonly component: string | null;
  readonly file: string | null;
  readonly line: number | null;
  readonly column: number | null;
}

export interface InboxPin extends PageElement {
  readonly port: number;
  readonly path: string;
}

export interface PagePicture {
  readonly media_type: 'image/png' | 'image/jpeg';
  readonly width: number;
  readonly height: number;
  /** Base64. */
  readonly data: string;
}

/** A comment of a person for the run's agent, or a reply to one. */
export interface InboxMessage {
  readonly message_id: string;
  /** The comment that this replies to. */
  readonly reply_to: string | null;
  readonly by: 'owner' | 'admin' | 'member' | 'agent';
  readonly at: string;
  /** When the other side read it. */
  readonly read_at: string | null;
  readonly text: string;
  readonly pin: InboxPin | null;
  readonly has_picture: boolean;
}

export interface CommentOptions extends CallOptions {
  /** The element that the comment is about: `selector`, `port` and `path` at least. */
  readonly pin?:
    | (Pick<InboxPin, 'selector' | 'port' | 'path'> & {
        readonly [Field in keyof PageElement]?: PageElement[Field];
      })
    | undefined;
  readonly picture?: PagePicture | undefined;
}

/** Comments of people for the run's agent, and its replies. */
export class Inbox {
  readonly #http: HttpClient;
  readonly #run: string;

  /** @param run path of the run in the API */
  constructor(http: HttpClient, run: string) {
    this.#http = http;
    this.#run = run;
  }

  /** Oldest first. `unread`: only what the other side sent and this side has not read. */
  list({
    unread,
    signal,
  }: CallOptions & { readonly unread?: boolean | undefined } = {}): Promise<readonly InboxMessage[]> {
    return this.#http.list('messages', `GET ${this.#run}/inbox`, { query: { unread }, signal });
  }

  /** One message with its picture. */
  get(
    messageId: string,
    { signal }: CallOptions = {},
  ): Promise<InboxMessage & { readonly picture: PagePicture | null }> {
    return this.#http.json(`GET ${this.#path(messageId)}`, { signal });
  }

  /** Sends a comment to the agent; for people. */
  post(text: string, { signal, ...comment }: CommentOptions = {}): Promise<InboxMessage> {
    return this.#http.json(`POST ${this.#run}/inbox`, { json: { text, ...comment }, signal });
  }

  reply(messageId: string, text: string, { signal }: CallOptions = {}): Promise<InboxMessage> {
    return this.#http.json(`POST ${this.#path(messageId)}/replies`, { json: { text }, signal });
  }

  /** Marks messages of the other side as read. */
  markRead(messageIds: readonly string[], { signal }: CallOptions = {}): Promise<void> {
    return this.#http.done(`POST ${this.#run}/inbox/read`, {
      json: { messages: messageIds },
      isIdempotent: true,
      signal,
    });
  }

  /** Finds the element at a point of a page, for the `pin` and `picture` of a comment. */
  findElement(
    port: number,
    point: { readonly x: number; readonly y: number },
    { path = '/', signal }: CallOptions & { readonly path?: string | undefined } = {},
  ): Promise<PageElement & { readonly picture: PagePicture | null }> {
    return this.#http.json(`POST ${this.#run}/previews/${port}/element`, {
      json: { path, point },
      timeoutMs: LOOK_MS,
      signal,
    });
  }

  #path(messageId: string): string {
    return `${this.#run}/inbox/${encodeURIComponent(messageId)}`;
  }
}

/** Timeout in milliseconds: a look takes at most a minute once it has started, or two. */
export const LOOK_MS = 120_000;
