/** What comes from a shell, in its order. What is thrown here is a breach of its protocol: the shell's command takes it for lost. */
export interface ShellListener {
  stdout(bytes: Buffer): void;
  stderr(bytes: Buffer): void;
  /** The shell has ended, with this exit code; nothing follows. */
  ended(code: number): void;
  /** Nobody will ever know how it ends. */
  lost(what: string, cause?: unknown): void;
}

/**
 * The connection to a shell that was started in a sandbox: a WebSocket of an API server, a stream of a container engine. All that is sent keeps its order. Nothing is
 * read before `listen`, nor while it is paused: a shell that nobody reads stands still.
 */
export interface ShellChannel {
  /** Writes to the shell's stdin. `done` is called when there is room for more, or with what went wrong. */
  write(bytes: Uint8Array, done?: (error?: Error | null) => void): void;
  /** The shell's stdin has come to its end. */
  endInput(done?: () => void): void;
  /** Sizes are held to what a terminal can have. */
  resize(cols: number, rows: number): void;
  pause(): void;
  resume(): void;
  /** Called once. */
  listen(listener: ShellListener): void;
  /** Lets go of the connection. The shell may run on. */
  close(): void;
}
