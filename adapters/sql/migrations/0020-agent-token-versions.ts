import type { Migration } from '../migration.ts';

/**
 * Each rotation of a run's agent token increments the version; tokens of earlier versions are
 * refused.
 */
export const agentTokenVersions: Migration = {
  name: '0020-agent-token-versions',
  async up(db) {
    await db.schema
      .alterTable('runs')
      .addColumn('agent_token_version', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
  },
};
