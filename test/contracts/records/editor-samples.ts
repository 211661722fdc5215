import type {
  NewToolRun,
  NewToolVersion,
  SnapshotRecord,
  ToolRecord,
  ToolRunError,
  ToolRunOutcome,
  ToolSource,
} from '#core/editor/editor-store.ts';
import { ALICE, minutes, NOON } from './samples.ts';

const SOURCE: ToolSource = {
  entrypoint: 'run',
  sourceCode: 'def run(inputs, context): ...',
  language: 'python',
  inputSchema: { type: 'object' },
  settingsSchema: null,
  usageInstructions: '',
};

export const SUCCESS: ToolRunOutcome = {
  status: 'succeeded',
  outputs: { word: 'moin', list: [1, null, '\u{1f6f3}'] },
  nextActions: [{ id: 'again', label: 'Again' }],
  error: null,
  stdout: 'out',
  stderr: 'err',
};

export const CUT_OFF: ToolRunError = { code: 'interrupted', message: 'It was cut off.', traceback: null };

export function tool(id: string, rest: Partial<ToolRecord> = {}): ToolRecord {
  return { id, owner: ALICE, name: 'A tool', createdAt: NOON, ...rest };
}

export function toolVersion(id: string, toolId: string, rest: Partial<NewToolVersion> = {}): NewToolVersion {
  return { id, toolId, createdAt: NOON, createdBy: 'alice', ...SOURCE, ...rest };
}

export function snapshot(id: string, rest: Partial<SnapshotRecord> = {}): SnapshotRecord {
  return {
    id,
    toolId: 'tool_1',
    versionId: 'ver_1',
    owner: ALICE,
    payloadBytes: 12,
    state: null,
    sandboxId: null,
    createdAt: NOON,
    createdBy: 'alice',
    expiresAt: minutes(1_440),
    ...SOURCE,
    ...rest,
  };
}

export function toolRun(id: string, snapshotId: string, rest: Partial<NewToolRun> = {}): NewToolRun {
  return {
    id,
    toolId: 'tool_1',
    versionId: 'ver_1',
    snapshotId,
    snapshotExpiresAt: minutes(1_440),
    owner: ALICE,
    actionId: null,
    parentRunId: null,
    inputs: { n: 1 },
    createdAt: NOON,
    createdBy: 'alice',
    deadline: minutes(10),
    ...rest,
  };
}
