import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { TrustedProxies } from '#proxy/client-address.ts';

const RANGES = ['10.0.0.0/8', '192.0.2.7/32', 'fd00::/8'];
const proxies = new TrustedProxies(RANGES);

const trusted = fc.oneof(
  fc.tuple(fc.nat(255), fc.nat(255)).map(([a, b]) => `10.1.${a}.${b}`),
  fc.constantFrom('192.0.2.7', 'fd00::1', 'fdff:1::2'),
);
const stranger = fc.oneof(
  fc.tuple(fc.nat(255), fc.nat(255)).map(([a, b]) => `203.0.${a}.${b}`),
  fc.constantFrom('192.0.2.8', '11.0.0.1', '2001:db8::1', 'fc00::1'),
);
/** What a client may have written before the first proxy that is trusted. */
const spoofed = fc.array(
  fc.oneof(trusted, stranger, fc.constantFrom('unknown', '', '127.0.0.1', '10.0.0.1:80', '<b>', '1.2.3')),
  { maxLength: 4 },
);
/** Some proxies write the port, brackets, or IPv4 as IPv6. */
const written = (address: string) =>
  address.includes(':')
    ? fc.constantFrom(address, `[${address}]`, `[${address}]:4711`)
    : fc.constantFrom(address, `${address}:4711`, `::ffff:${address}`);
const listed = fc.constantFrom(',', ', ', ' , ');

describe('the client of a request', () => {
  test('is what the first trusted proxy saw, whatever the client itself wrote', () => {
    fc.assert(
      fc.property(
        stranger.chain((client) => fc.tuple(fc.constant(client), written(client))),
        spoofed,
        fc.array(trusted.chain(written), { maxLength: 4 }),
        trusted,
        listed,
        ([client, text], forged, hops, peer, comma) => {
          expect(proxies.client(peer, [...forged, text, ...hops].join(comma))).toBe(client);
        },
      ),
    );
  });

  test('is the peer, if that is no trusted proxy', () => {
    fc.assert(
      fc.property(stranger, spoofed, (peer, forged) => {
        expect(proxies.client(peer, forged.join(', '))).toBe(peer);
        expect(proxies.client(`::ffff:${peer}`, forged.join(', '))).toBe(
          peer.includes(':') ? `::ffff:${peer}` : peer,
        );
      }),
    );
  });

  test('is the peer, if no proxy is trusted', () => {
    fc.assert(
      fc.property(fc.oneof(trusted, stranger), spoofed, (peer, forged) => {
        expect(new TrustedProxies().client(peer, forged.join(', '))).toBe(peer);
      }),
    );
  });

  test.each([
    ['10.0.0.2', undefined, '10.0.0.2'],
    ['10.0.0.2', '', '10.0.0.2'],
    ['10.0.0.2', 'unknown', '10.0.0.2'],
    ['10.0.0.2', '203.0.113.9, unknown', '10.0.0.2'],
    ['10.0.0.2', '203.0.113.9, unknown, 10.0.0.3', '10.0.0.3'],
    ['10.0.0.2', '10.0.0.9, 10.0.0.3', '10.0.0.9'],
    ['10.0.0.2', '203.0.113.9\r\nX-Admin: 1', '10.0.0.2'],
    ['/run/porthole.sock', '203.0.113.9', '/run/porthole.sock'],
    [undefined, '203.0.113.9', undefined],
  ])('of %s with %s is %s', (peer, forwarded, client) => {
    expect(proxies.client(peer, forwarded)).toBe(client);
  });
});
