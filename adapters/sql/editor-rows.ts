import type {
  DraftChange,
  DraftLock,
  DraftRecord,
  JsonObject,
  JsonValue,
  NewToolRun,
  NextAction,
  SnapshotRecord,
  ToolRunError,
  ToolRunOutcome,
  ToolRunRecord,
  ToolRunSummary,
  ToolSource,
  ToolVersionRecord,
} from '#core/editor/editor-store.ts';
import { instantText } from './sql-dialect.ts';
import { columnsOf, fieldsOf } from './row-fields.ts';
import type { NewRow, Row, ToolSourceColumns } from './schema.ts';

/** The fields of a source that are columns as they are. */
const SOURCE_FIELDS = ['entrypoint', 'sourceCode', 'language', 'usageInstructions'] as const;

export function versionRow(version: ToolVersionRecord): NewRow<'tool_versions'> {
  return {
    ...columnsOf(version, ['id', 'toolId', 'number', 'createdAt', 'createdBy']),
    ...sourceColumns(version),
  };
}

export function toVersion(row: Row<'tool_versions'>): ToolVersionRecord {
  return { ...fieldsOf(row), ...toSource(row) };
}

export function changedColumns(change: DraftChange): Partial<Row<'tool_drafts'>> {
  const { inputSchema, settingsSchema } = change;
  return {
    ...columnsOf(change, ['versionId', ...SOURCE_FIELDS]),
    ...(inputSchema !== undefined && { input_schema: schemaText(inputSchema) }),
    ...(settingsSchema !== undefined && { settings_schema: schemaText(settingsSchema) }),
  };
}

export function lockColumns({ holder, tokenSha256, expiresAt }: DraftLock) {
  return {
    lock_org: holder.org,
    lock_user: holder.user,
    lock_token_sha256: tokenSha256,
    lock_expires_at: instantText(expiresAt),
  };
}

export function toDraft(row: Row<'tool_drafts'>): DraftRecord {
  return {
    toolId: row.tool_id,
    versionId: row.version_id,
    revision: row.revision,
    updatedAt: new Date(row.updated_at),
    updatedBy: row.updated_by,
    lock: toLock(row),
    ...toSource(row),
  };
}

export function toLock(
  row: Pick<Row<'tool_drafts'>, 'lock_org' | 'lock_user' | 'lock_token_sha256' | 'lock_expires_at'>,
): DraftLock | null {
  const { lock_org: org, lock_user: user, lock_token_sha256: tokenSha256, lock_expires_at: until } = row;
  if (org === null || user === null || tokenSha256 === null || until === null) return null;
  return { holder: { user, org }, tokenSha256, expiresAt: new Date(until) };
}

export function snapshotRow(snapshot: SnapshotRecord): NewRow<'sandbox_snapshots'> {
  return {
    ...columnsOf(snapshot, [
      'id',
      'toolId',
      'versionId',
      'owner',
      'payloadBytes',
      'sandboxId',
      'createdAt',
      'createdBy',
      'expiresAt',
    ]),
    ...sourceColumns(snapshot),
    state: JSON.stringify(snapshot.state),
    bytes: snapshotSize(snapshot),
  };
}

/** Size of a snapshot in bytes: its source and its state, as stored. */
export function snapshotSize(snapshot: ToolSource & Pick<SnapshotRecord, 'state'>): number {
  const texts = [...Object.values(sourceColumns(snapshot)), JSON.stringify(snapshot.state)];
  return texts.reduce((sum, text) => sum + (text === null ? 0 : Buffer.byteLength(text)), 0);
}

export function toSnapshot(row: Row<'sandbox_snapshots'>): SnapshotRecord {
  const { bytes: _, ...snapshot } = fieldsOf(row);
  return { ...snapshot, ...toSource(row), state: JSON.parse(row.state) as JsonValue };
}

export function runningRow(run: NewToolRun): NewRow<'tool_runs'> {
  return {
    ...columnsOf(run, [
      'id',
      'toolId',
      'versionId',
      'snapshotId',
      'snapshotExpiresAt',
      'owner',
      'actionId',
      'parentRunId',
      'createdAt',
      'createdBy',
      'deadline',
    ]),
    inputs: JSON.stringify(run.inputs),
    status: 'running',
    outputs: 'null',
    next_actions: '[]',
    error: 'null',
    stdout: '',
    stderr: '',
    ended_at: null,
  };
}

export function endedColumns(outcome: ToolRunOutcome, at: Date) {
  return {
    status: outcome.status,
    outputs: JSON.stringify(outcome.outputs),
    next_actions: JSON.stringify(outcome.nextActions),
    error: JSON.stringify(outcome.error),
    stdout: outcome.stdout,
    stderr: outcome.stderr,
    ended_at: instantText(at),
  };
}

/** The columns that stay small. */
export const SUMMARY_COLUMNS = [
  'id',
  'tool_id',
  'version_id',
  'snapshot_id',
  'snapshot_expires_at',
  'owner_org',
  'owner_user',
  'action_id',
  'parent_run_id',
  'status',
  'error',
  'created_at',
  'created_by',
  'ended_at',
  'deadline',
] as const satisfies readonly (keyof Row<'tool_runs'>)[];

export function toToolRunSummary(
  row: Pick<Row<'tool_runs'>, (typeof SUMMARY_COLUMNS)[number]>,
): ToolRunSummary {
  const error = JSON.parse(row.error) as ToolRunError | null;
  return { ...fieldsOf(row), error, deadline: new Date(row.deadline) };
}

export function toToolRun(row: Row<'tool_runs'>): ToolRunRecord {
  return {
    ...toToolRunSummary(row),
    inputs: JSON.parse(row.inputs) as JsonValue,
    outputs: JSON.parse(row.outputs) as JsonValue,
    nextActions: JSON.parse(row.next_actions) as NextAction[],
    stdout: row.stdout,
    stderr: row.stderr,
  };
}

export function sourceColumns(source: ToolSource): ToolSourceColumns {
  return {
    ...columnsOf(source, SOURCE_FIELDS),
    input_schema: schemaText(source.inputSchema),
    settings_schema: schemaText(source.settingsSchema),
  };
}

function schemaText(schema: JsonObject | null): string | null {
  return schema && JSON.stringify(schema);
}

function toSource(row: ToolSourceColumns): ToolSource {
  const schema = (text: string | null) => text && (JSON.parse(text) as JsonObject);
  return {
    entrypoint: row.entrypoint,
    sourceCode: row.source_code,
    language: row.language,
    inputSchema: schema(row.input_schema) || null,
    settingsSchema: schema(row.settings_schema) || null,
    usageInstructions: row.usage_instructions,
  };
}
