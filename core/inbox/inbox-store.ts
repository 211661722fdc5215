import type { PageElement, Picture } from '../pages/page-browser.ts';
import type { NewEvent, Role } from '../runs/timeline.ts';
import type { Owner } from '#base/clock-and-ids.ts';

/** An element of a preview's page that a comment refers to. */
export interface InboxPin extends PageElement {
  readonly port: number;
  readonly path: string;
}

/** A comment of a person for the run's agent, or a reply to one. */
export interface InboxMessage {
  /** `msg_` + ULID. */
  readonly id: string;
  readonly runId: string;
  /** The comment that this replies to. */
  readonly replyTo: string | null;
  readonly by: Exclude<Role, 'traffic'>;
  readonly at: Date;
  /** When the recipient read it. */
  readonly readAt: Date | null;
  readonly text: string;
  readonly pin: InboxPin | null;
  readonly hasPicture: boolean;
}

export interface InboxRecords {
  /**
   * Adds a message and its event. `too_many`: the run has `most` messages. `ended`: the run is
   * completed or does not exist.
   */
  add(
    message: InboxMessage,
    picture: Picture | null,
    more: { readonly owner: Owner; readonly most: number; readonly event: NewEvent },
  ): Promise<'added' | 'too_many' | 'ended'>;
  /** All messages of the run, oldest first. */
  list(runId: string, owner: Owner): Promise<readonly InboxMessage[]>;
  get(
    runId: string,
    id: string,
    owner: Owner,
  ): Promise<(InboxMessage & { readonly picture: Picture | null }) | undefined>;
  /** Marks messages of the other side as read; those already read keep their time. */
  markRead(
    runId: string,
    ids: readonly string[],
    reader: { readonly isAgent: boolean; readonly at: Date },
  ): Promise<void>;
}
