/** What happens on a `MessageSocket`. None of these may throw. */
export interface MessageListeners {
  /** Bytes of a binary message, or the text of a text message. */
  message(message: Buffer | string): void;
  /** Some of what waited has left this process. */
  sent(): void;
  /** It is over, whoever ended it. Nothing comes after it. */
  closed(): void;
}

/**
 * This process's end of a WebSocket. Nothing is read from it before `listen`. On one that has
 * closed, every method does nothing.
 */
export interface MessageSocket {
  /** To be called once. Where the socket has closed already, `closed` comes all the same. */
  listen(listeners: MessageListeners): void;
  /**
   * Binary for bytes, which must not be changed afterwards; text for a string. Memory is the
   * caller's to bound, by `waiting`.
   */
  send(message: Uint8Array | string): void;
  /** Bytes that were sent and are still in this process, with what keeping each message costs. */
  readonly waiting: number;
  /**
   * Reads no more messages until `resume`. Meanwhile nobody notices when the other side goes away.
   */
  pause(): void;
  resume(): void;
  /** Ends it after all that was sent. `reason`: at most 123 bytes. */
  close(code: number, reason: string): void;
}
