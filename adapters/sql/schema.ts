import type { DesiredState, EndReason, ObservedState, RunRecord } from '#core/ports/records.ts';

/**
 * The tables as the newest migration leaves them, the same on every database: ids are text, times RFC 3339 UTC text
 * with milliseconds (which sorts as time does), booleans 0 or 1. Nothing refers to `runs` or `sandboxes` by foreign
 * key: previews, and runs on sandboxes made elsewhere, outlive a lost database.
 */
export interface SqlSchema {
  schema_migrations: SchemaMigrationsTable;
  runs: RunsTable;
  sandboxes: SandboxesTable;
  preview_generations: PreviewGenerationsTable;
  preview_tombstones: PreviewTombstonesTable;
}

export interface SchemaMigrationsTable {
  name: string;
  applied_at: string;
}

export interface RunsTable {
  id: string;
  owner_org: string;
  owner_user: string;
  title: string | null;
  sandbox_id: string;
  auto_approve_tools: number;
  status: RunRecord['status'];
  token_kid: string;
  created_at: string;
  completed_at: string | null;
}

export interface SandboxesTable {
  id: string;
  owner_org: string;
  owner_user: string;
  image: string | null;
  place: string;
  desired: DesiredState;
  observed: ObservedState;
  created_at: string;
}

/** A row exists from the first explicit stop on: no row is generation 0. */
export interface PreviewGenerationsTable {
  run_id: string;
  target_port: number;
  generation: number;
}

export interface PreviewTombstonesTable {
  token_sha256: string;
  run_id: string;
  reason: EndReason;
  ended_at: string;
}
