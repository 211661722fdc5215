import type { HttpClient } from '../http/http-client.ts';
import type {
  InboxComment,
  InboxMessage,
  InboxMessageWithPicture,
  PageElement as FoundElement,
} from '../api.ts';
import type { CallOptions } from './files.ts';

export type { InboxMessage, InboxPin, Picture as PagePicture } from '../api.ts';

/** An element of a page: what is known of it. Its texts are the page's: untrusted. */
export type PageElement = Omit<FoundElement, 'picture'>;

export interface CommentOptions extends CallOptions {
  /** The element that the comment is about: `selector`, `port` and `path` at least. */
  readonly pin?: InboxComment['pin'] | undefined;
  readonly picture?: InboxComment['picture'] | undefined;
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
  get(messageId: string, { signal }: CallOptions = {}): Promise<InboxMessageWithPicture> {
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
  ): Promise<FoundElement> {
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
