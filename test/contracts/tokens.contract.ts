import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { PortholeError } from '#base/errors.ts';
import type { SandboxClaims, Tokens } from '#core/auth/authenticator.ts';
import { isPreviewToken } from '#core/previews/preview-token.ts';

const NOON = new Date('2026-03-01T12:00:00.000Z');
const RUN = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
const COORDINATES = fc.tuple(RUN, fc.integer({ min: 1, max: 65_535 }), fc.nat(1_000));

/**
 * The contract of Tokens. `make` returns a separate instance each time, on the named keys, the
 * first one as the current key; the key of a name is always the same.
 */
export function tokensContract(name: string, make: (kids: readonly [string, ...string[]]) => Tokens): void {
  describe(`${name} as tokens`, () => {
    const [here, there] = [make(['key-1']), make(['key-1'])];
    const rotated = make(['key-2', 'key-1']);

    test('derive one preview token from the same run, port and generation, on every instance', () => {
      fc.assert(
        fc.property(COORDINATES, ([run, port, generation]) => {
          const token = here.preview('key-1', run, port, generation);
          expect(there.preview('key-1', run, port, generation)).toBe(token);
          expect(isPreviewToken(token)).toBe(true);
        }),
        { numRuns: 2_000 },
      );
    });

    test('derive another preview token from any other run, port, generation or key', () => {
      fc.assert(
        fc.property(COORDINATES, COORDINATES, fc.boolean(), ([run, port, generation], other, otherKey) => {
          const token = rotated.preview('key-1', run, port, generation);
          const different = rotated.preview(otherKey ? 'key-2' : 'key-1', ...other);
          const isSame = !otherKey && other[0] === run && other[1] === port && other[2] === generation;
          expect(different === token).toBe(isSame);
          // The neighbors, which random draws would rarely hit.
          expect(rotated.preview('key-1', run, port, generation + 1)).not.toBe(token);
          expect(rotated.preview('key-1', run, port + 1, generation)).not.toBe(token);
          expect(rotated.preview('key-1', `${run}1`, port, generation)).not.toBe(token);
          expect(rotated.preview('key-2', run, port, generation)).not.toBe(token);
        }),
        { numRuns: 1_000 },
      );
    });

    test('keep the URLs of earlier runs when a new key comes, and pin the new key to later ones', () => {
      expect(here.currentKid()).toBe('key-1');
      expect(rotated.currentKid()).toBe('key-2');
      fc.assert(
        fc.property(COORDINATES, ([run, port, generation]) => {
          expect(rotated.preview('key-1', run, port, generation)).toBe(
            here.preview('key-1', run, port, generation),
          );
        }),
        { numRuns: 1_000 },
      );
    });

    test('refuse a key that is gone', () => {
      const code = (() => {
        try {
          return here.preview('key-2', 'run_1', 3000, 0);
        } catch (error) {
          return error instanceof PortholeError ? error.code : error;
        }
      })();
      expect(code).toBe('internal_error');
    });

    test('know an agent by its token until it expires, on every instance that has the key', async () => {
      const expiresAt = new Date(NOON.getTime() + 60_000);
      const claims = { runId: 'run_1', expiresAt, inside: true };
      const token = await here.signAgent(claims);
      expect(await there.verifyAgent(token, NOON)).toEqual(claims);
      expect(await rotated.verifyAgent(token, NOON)).toEqual(claims);
      const next = { ...claims, version: 2 };
      expect(await there.verifyAgent(await here.signAgent(next), NOON)).toEqual(next);
      expect(await here.verifyAgent(token, expiresAt)).toBeUndefined();
      expect(await make(['key-2']).verifyAgent(token, NOON)).toBeUndefined();
      expect(await here.verifyAgent('nonsense', NOON)).toBeUndefined();
      expect(await here.verifyAgent('', NOON)).toBeUndefined();
    });

    test('know a credential for a sandbox on every instance that has the key, and never as one of another kind', async () => {
      const claims: SandboxClaims[] = [
        { sandboxId: 'box', generation: 2, by: { delegationId: 'dlg_1' } },
        { sandboxId: 'box', generation: 2, by: { version: 0 } },
      ];
      for (const claim of claims) {
        const token = await here.signSandbox(claim);
        expect(await there.verifySandbox(token)).toEqual(claim);
        expect(await rotated.verifySandbox(token)).toEqual(claim);
        expect(await make(['key-2']).verifySandbox(token)).toBeUndefined();
        expect(await here.verifyAgent(token, NOON)).toBeUndefined();
        expect(await here.signSandbox(claim)).toBe(token);
      }
      const agent = await here.signAgent({
        runId: 'run_1',
        expiresAt: new Date(NOON.getTime() + 60_000),
        inside: false,
      });
      expect(await here.verifySandbox(agent)).toBeUndefined();
      expect(await here.verifySandbox('')).toBeUndefined();
    });
  });
}
