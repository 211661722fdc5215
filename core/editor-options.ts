/** What the editor's runs are held to, as configured. */
export interface EditorOptions {
  /** For how long actions may follow a run, in milliseconds. */
  readonly snapshotTtlMs: number;
  /** Of a snapshot's payload as canonical JSON. */
  readonly snapshotMaxBytes: number;
  /** Of source and state of all snapshots of one owner that are not over. */
  readonly snapshotTotalBytes: number;
  /** For how long a run is kept once its snapshot is over, in milliseconds. */
  readonly runRetentionMs: number;
  /** Of one run, from its first line to its result, in milliseconds. */
  readonly runTimeoutMs: number;
  /** Of each process of a run, in MiB. */
  readonly runMemoryMebibytes: number;
}
