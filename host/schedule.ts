import type { Logger } from '#handlers/services.ts';

/** A task that runs repeatedly, never twice at once. */
export interface Schedule {
  /** Stops; resolves once a running pass has ended. */
  stop(): Promise<void>;
}

/** Runs `pass` every `seconds`. A failure is logged, and the next pass runs as usual. */
export function every(
  seconds: number,
  name: string,
  log: Logger,
  pass: (signal: AbortSignal) => Promise<unknown>,
): Schedule {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= pass(stopping.signal)
      .then(
        () => undefined,
        (error: unknown) => {
          if (!stopping.signal.aborted) log.error({ err: error, schedule: name }, 'scheduled pass failed');
        },
      )
      .finally(() => {
        running = undefined;
      });
  }, seconds * 1_000);
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await running;
    },
  };
}
