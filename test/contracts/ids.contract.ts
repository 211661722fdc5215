import { describe, expect, test } from '@jest/globals';
import type { Ids } from '#base/clock-and-ids.ts';
import { isPreviewToken } from '#core/previews/preview-token.ts';
import { RUN_ID } from '#core/runs/find-run.ts';

export function idsContract(name: string, make: () => Ids): void {
  describe(`${name} as ids`, () => {
    test.each([
      ['run', /^run_[0-9A-HJKMNP-TV-Z]{26}$/],
      ['approval', /^apr_[0-9A-HJKMNP-TV-Z]{26}$/],
      ['policy', /^pol_[0-9A-HJKMNP-TV-Z]{26}$/],
      ['tool', /^tool_[0-9A-HJKMNP-TV-Z]{26}$/],
      ['toolVersion', /^ver_[0-9A-HJKMNP-TV-Z]{26}$/],
      ['toolRun', /^trun_[0-9A-HJKMNP-TV-Z]{26}$/],
      ['snapshot', /^snap_[0-9A-HJKMNP-TV-Z]{26}$/],
      ['delegation', /^dlg_[0-9A-HJKMNP-TV-Z]{26}$/],
      ['apiKeyId', /^key_[0-9A-HJKMNP-TV-Z]{26}$/],
      ['apiKey', /^porthole_[0-9a-f]{48}$/],
      ['message', /^msg_[0-9A-HJKMNP-TV-Z]{26}$/],
      ['look', /^look_[0-9A-HJKMNP-TV-Z]{26}$/],
      ['sandbox', /^[a-z2-7]{26}$/],
      ['request', /^[A-Za-z0-9_-]{1,64}$/],
    ] as const)('never give a %s the same id twice, and keep its form', (kind, form) => {
      const ids = make();
      const given = Array.from({ length: 2_000 }, () => ids[kind]());
      expect(new Set(given).size).toBe(2_000);
      expect(given.filter((id) => !form.test(id))).toEqual([]);
    });

    test('give runs ids that every reader accepts, and that are no tokens', () => {
      const id = make().run();
      expect(RUN_ID.test(id)).toBe(true);
      expect(isPreviewToken(id)).toBe(false);
    });
  });
}
