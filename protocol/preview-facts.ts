/** What a preview is started with: its route's annotations hold all of it. */
export interface PreviewFacts {
  readonly runId: string;
  /** The user that owns the run. */
  readonly owner: string;
  readonly sandboxId: string;
  /** The pod (or, on one machine, the sandbox) that serves it. */
  readonly podName: string;
  /** The port in the sandbox that it leads to. */
  readonly targetPort: number;
  readonly startedAt: Date;
  readonly expiresAt: Date;
  readonly maxUntil: Date;
}
