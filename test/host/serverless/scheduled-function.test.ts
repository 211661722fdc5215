import { beforeAll, describe, expect, test } from '@jest/globals';
import { reap } from '#handlers/ops/scheduled.ts';
import type { Services } from '#handlers/services.ts';
import { openNothing } from '#host/serverless/open-nothing.ts';
import { scheduledFunction } from '#host/serverless/scheduled-function.ts';

describe('a scheduled function', () => {
  beforeAll(() => {
    process.env['LOG_LEVEL'] = 'silent';
  });

  test('fails where the pass does, so that the runtime shows it', async () => {
    const { services, options } = await openNothing();
    const plane = {
      list() {
        throw new Error('no cluster answers');
      },
    } as unknown as Services['plane'];
    const records = {} as Services['records'];
    const open = () =>
      Promise.resolve({
        services: { ...services, log: services.log, clock: services.clock, plane, records },
        options,
      });
    const handler = scheduledFunction(open, reap);
    await expect(handler({ source: 'aws.events' })).rejects.toThrow('no cluster answers');
  });

  test('opens again after it could not', async () => {
    let opened = 0;
    const handler = scheduledFunction(() => {
      opened += 1;
      return Promise.reject(new Error(`try ${opened}`));
    }, reap);
    await expect(handler()).rejects.toThrow('try 1');
    await expect(handler()).rejects.toThrow('try 2');
  });
});
