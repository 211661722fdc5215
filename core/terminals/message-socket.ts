/** Events of a `MessageSocket`. None of these may throw. */
export interface MessageListeners {
  /** Bytes of a binary message, or the text of a text message. */
  message(message: Buffer | string): void;
  /** Some buffered bytes have left this process. */
  sent(): void;
  /** The socket has closed, from either side. The last event. */
  closed(): void;
}

/**
 * This process's end of a WebSocket. Nothing is read from it before `listen`. On a closed socket,
 * every method does nothing.
 */
export interface MessageSocket {
  /** Call it once. Calls `closed` even if the socket has already closed. */
  listen(listeners: MessageListeners): void;
  /**
   * Binary for bytes, which must not be changed afterwards; text for a string. The caller bounds
   * the memory, by `waiting`.
   */
  send(message: Uint8Array | string): void;
  /** Sent bytes that are still in this process, including the overhead of each message. */
  readonly waiting: number;
  /** Reads no more messages until `resume`. A disconnect of the client goes unnoticed meanwhile. */
  pause(): void;
  resume(): void;
  /** Closes it after all sent messages. `reason`: at most 123 bytes. */
  close(code: number, reason: string): void;
}

/** The same socket, with other listeners. */
export function withListeners(
  socket: MessageSocket,
  change: (listeners: MessageListeners) => Partial<MessageListeners>,
): MessageSocket {
  return {
    listen: (listeners) =>
      socket.listen({
        message: (message) => listeners.message(message),
        sent: () => listeners.sent(),
        closed: () => listeners.closed(),
        ...change(listeners),
      }),
    send: (message) => socket.send(message),
    get waiting() {
      return socket.waiting;
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: (code, reason) => socket.close(code, reason),
  };
}
