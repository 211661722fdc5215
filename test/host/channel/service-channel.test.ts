import { describe, expect, test } from '@jest/globals';
import { serviceChannel } from '#host/platforms/kubernetes-platform.ts';

describe('the channel of sandboxes in a cluster', () => {
  test.each([
    ['http://porthole.porthole.svc:8788', '198.19.0.7', 'http://198.19.0.7:8788/'],
    ['http://porthole.porthole.svc', 'fd00::7', 'http://[fd00::7]/'],
  ])('finds %s by its address', async (service, found, url) => {
    const asked: string[] = [];
    const channel = serviceChannel(new URL(service), async (name) => {
      asked.push(name);
      return found;
    });
    expect(await channel.address('any')).toEqual({ kind: 'url', url });
    expect(asked).toEqual(['porthole.porthole.svc']);
  });

  test('uses a URL as its own address', async () => {
    expect(await serviceChannel(new URL('http://127.0.0.1:8788')).address('any')).toEqual({
      kind: 'url',
      url: 'http://127.0.0.1:8788/',
    });
  });
});
