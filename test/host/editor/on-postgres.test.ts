import { afterAll, beforeAll, describe } from '@jest/globals';
import { editorContract } from '#test/contracts/editor.contract.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '#test/support/postgres.ts';
import { suite } from '#test/support/suite.ts';

suite('the editor, with its records in PostgreSQL', postgresMissing, () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  }, 60_000);
  afterAll(() => postgres.stop());

  const k = Buffer.alloc(32, 'editor').toString('base64url');
  describe('over HTTP', () =>
    editorContract(() => ({
      DATABASE_URL: postgres.url,
      PORTHOLE_SIGNING_KEYS: JSON.stringify({ keys: [{ kty: 'oct', kid: 'a', k }] }),
    })));
});
