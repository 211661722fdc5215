import type { Migration } from '../migration.ts';

export const oldToolRuns: Migration = {
  name: '0016-old-tool-runs',
  async up(db) {
    await db.schema
      .createIndex('tool_runs_by_expiry')
      .on('tool_runs')
      .columns(['snapshot_expires_at', 'id'])
      .execute();
  },
};
