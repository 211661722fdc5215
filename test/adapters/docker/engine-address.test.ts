import { describe, expect, test } from '@jest/globals';
import { addressText, engineAddress } from '#adapters/docker/engine-address.ts';

describe('the address of an engine', () => {
  test.each([
    ['unix:///run/user/1000/docker.sock', false, 'unix:///run/user/1000/docker.sock', undefined],
    ['tcp://10.0.0.1:2375', false, 'tcp://10.0.0.1:2375', false],
    ['tcp://engine', false, 'tcp://engine:2375', false],
    ['tcp://engine', true, 'tcp://engine:2376', true],
    ['tcp://engine:2376', false, 'tcp://engine:2376', true],
    ['https://[::1]:4243', false, 'tcp://[::1]:4243', true],
  ])('%s, TLS %j, is %s', (host, verifyTls, text, isSecure) => {
    const address = engineAddress(host, verifyTls);
    expect([addressText(address), address.kind === 'tcp' ? address.isSecure : undefined]).toEqual([
      text,
      isSecure,
    ]);
  });

  test.each([
    'ssh://me@engine',
    'unix://docker.sock',
    'engine:2375',
    'tcp://',
    'tcp://user@engine',
    'npipe:////./pipe/x',
  ])('is none of %s', (host) => {
    expect(() => engineAddress(host)).toThrow('must be unix:///path or tcp://host:port');
  });

  test.each([undefined, ''])('is this machine’s own where nothing is said: %j', (host) => {
    expect(engineAddress(host).kind).toBe('socket');
  });
});
