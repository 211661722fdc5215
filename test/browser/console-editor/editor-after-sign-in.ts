import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { editorOf, type MadeTool } from '#test/host/support/editor.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { paste, violations } from '../support/console-fixture.ts';
import type { ConsoleSuite } from '../support/console-suite.ts';

/** Unsaved text, and the lock of a draft, of people who sign in. */
export function editorAfterSignIn(here: ConsoleSuite): void {
  describe('the editor of the console after a sign-in', () => {
    const KEYS = { alice: 'a-key-of-alice-0123', root: 'a-key-of-root-01234' } as const;
    let porthole: TestHost;

    beforeAll(async () => {
      const keys = {
        [KEYS.alice]: { user: 'alice', org: 'acme' },
        [KEYS.root]: { user: 'root', org: 'acme', admin: true },
      };
      porthole = await startTestHost({ PORTHOLE_API_KEYS: JSON.stringify(keys) });
    });
    afterAll(() => porthole?.end());

    async function signIn(on: Page, key: string) {
      await on.getByLabel('API key').fill(key);
      await on.getByRole('button', { name: 'Sign in' }).click();
    }
    async function openAs(key: string, { tool_id: id }: MadeTool) {
      const on = await (await here.browser.newContext()).newPage();
      await on.goto(`${porthole.host.url}/tools/${id}`);
      await signIn(on, key);
      return on;
    }

    test('restores unsaved text after the same user signs in again, and for no other user', async () => {
      const tool = await editorOf(porthole, KEYS.alice).makeTool('x = 0\n');
      const page = await openAs(KEYS.alice, tool);
      await page.getByText('You edit it').waitFor();
      const code = page.getByRole('textbox', { name: 'Code of the tool' });
      await paste(code, 'x = 1\n');
      await page.context().clearCookies();
      await page.getByRole('button', { name: 'Save draft' }).click();
      await page.getByLabel('API key').waitFor();
      await signIn(page, KEYS.alice);
      await page.getByText('You edit it').waitFor();
      expect(await code.innerText()).toContain('x = 1');
      expect(await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })')).toBe('{}');
      await page.context().clearCookies();
      await page.getByRole('button', { name: 'Save draft' }).click();
      await signIn(page, KEYS.root);
      await page.getByText('root · admin').waitFor();
      await page.getByText('You edit it').waitFor();
      expect(await code.innerText()).toContain('x = 0');
      await page.context().close();
    });

    test('names who holds the lock and until when; an admin takes it over, and the owner sees it', async () => {
      const tool = await editorOf(porthole, KEYS.alice).makeTool('x = 0\n');
      const owner = await openAs(KEYS.alice, tool);
      await owner.getByText('You edit it').waitFor();
      const admin = await openAs(KEYS.root, tool);
      await admin.getByText(/alice edits this draft, until \d\d:\d\d, or longer/).waitFor();
      expect(await violations(admin)).toEqual([]);
      await admin.getByRole('button', { name: 'Take it over' }).click();
      await admin.getByText('You edit it').waitFor();
      await paste(owner.getByRole('textbox', { name: 'Code of the tool' }), 'x = 1\n');
      await owner.getByRole('button', { name: 'Run unsaved' }).click();
      await owner.getByText('root has taken this draft over').waitFor();
      expect(await owner.getByRole('button', { name: 'Take it over' }).count()).toBe(0);
      await owner.getByRole('button', { name: 'Make another tool of it' }).click();
      await owner.getByRole('heading', { name: 't (copy)' }).waitFor();
      expect(await owner.getByRole('textbox', { name: 'Code of the tool' }).innerText()).toContain('x = 1');
      await Promise.all([owner.context().close(), admin.context().close()]);
    });
  });
}
