import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { discoverOidc } from '#adapters/auth/oidc-discovery.ts';

describe('what an issuer says of itself', () => {
  let server: Server;
  let url: string;
  let answer: string;
  let location: string | undefined;
  beforeEach(async () => {
    location = undefined;
    server = createServer((_req, res) => {
      if (location === undefined) res.setHeader('content-type', 'application/json').end(answer);
      else res.writeHead(302, { location }).end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });
  const discover = async () =>
    (await discoverOidc(url, { id: 'console', secret: undefined })).serverMetadata();
  const say = (rest: object) => {
    answer = JSON.stringify({ issuer: url, jwks_uri: `${url}/keys`, ...rest });
  };

  test('uses the document unchanged', async () => {
    say({ authorization_endpoint: `${url}/authorize`, token_endpoint: 'https://elsewhere.test/token' });
    expect(await discover()).toMatchObject({ authorization_endpoint: `${url}/authorize` });
  });

  test.each([
    ['authorization_endpoint', 'javascript:alert(1)'],
    ['authorization_endpoint', 'data:text/html,x'],
    ['token_endpoint', 'file:///etc/passwd'],
    ['jwks_uri', 'blob:x'],
  ])('is refused where %s is %s', async (name, endpoint) => {
    say({ [name]: endpoint });
    await expect(discover()).rejects.toThrow(name);
  });

  test('is refused where it speaks for another', async () => {
    say({ issuer: `${url}/` });
    await expect(discover()).rejects.toThrow('metadata of the issuer');
  });

  test('is refused where it leads elsewhere', async () => {
    location = `${url}/elsewhere`;
    await expect(discover()).rejects.toThrow('unexpected HTTP response status code');
  });

  test('is refused where it does not stop', async () => {
    say({ more: 'x'.repeat(300_000) });
    await expect(discover()).rejects.toMatchObject({
      cause: expect.objectContaining({ message: expect.stringContaining('more than 262144 bytes') }),
    });
  });
});
