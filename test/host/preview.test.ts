import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';

describe('a preview on one machine', () => {
  let porthole: TestHost;
  beforeAll(async () => {
    porthole = await startTestHost();
  });
  afterAll(() => porthole.end());

  test('starts at once, and says that nothing listens yet', async () => {
    const run = (await porthole.call('POST', '/api/runs', { body: {} })).json<{
      run_id: string;
      sandbox_id: string;
    }>();
    const started = await porthole.call('POST', `/api/runs/${run.run_id}/sandbox/port-forward`, {
      body: { target_port: 3000 },
    });
    expect(started.status).toBe(200);
    expect(started.json()).toMatchObject({
      target_port: 3000,
      local_port: 0,
      pod_name: run.sandbox_id,
      ready: false,
      reason: 'nothing_listens',
    });
  });
});
