import type { EditorRecords } from '#core/ports/editor.ts';
import type { SqlSession } from '../sql-session.ts';
import { draftRecords } from './draft-records.ts';
import { snapshotRecords } from './snapshot-records.ts';
import { toolRecords } from './tool-records.ts';
import { toolRunRecords } from './tool-run-records.ts';

export function editorRecords(session: SqlSession): EditorRecords {
  return {
    ...toolRecords(session),
    ...draftRecords(session),
    ...toolRunRecords(session),
    ...snapshotRecords(session),
  };
}
