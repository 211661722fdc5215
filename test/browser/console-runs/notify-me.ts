import { expect, test } from '@jest/globals';
import { askForPreview, decide } from '#test/host/support/approvals.ts';
import { makeRun } from '#test/host/support/runs.ts';
import { turn } from '../support/console-fixture.ts';
import type { ConsoleSuite } from '../support/console-suite.ts';

/** Of a browser that has not been asked yet, and a person who agrees. Headless ones deny. */
const FAKE = `
  window.Notification = class extends EventTarget {
    static permission = 'default';
    static async requestPermission() { return (this.permission = 'granted'); }
    constructor(title, { body }) { super(); void window.notified(title, body); }
  };`;

/** How the console asks to notify, and notifies. */
export function notifyMe(here: ConsoleSuite): void {
  test('offers notifications on the first request, and shows the next one in a hidden tab', async () => {
    const run = await makeRun(here.porthole, undefined, { title: 'For my agent' });
    const page = await here.browser.newPage();
    const shown = new Promise<string[]>((resolve) => {
      void page.exposeFunction('notified', (...words: string[]) => resolve(words));
    });
    await page.addInitScript(FAKE);
    await page.goto(`${here.porthole.host.url}/sandboxes`);
    const ask = (port: number) =>
      askForPreview(here.porthole, run.runId, run.agentToken, { target_port: port });
    const asked = [ask(4100)];
    // A card that still moves may take no press.
    await page.locator('.decision[data-armed="true"]').waitFor();
    await page.getByRole('button', { name: 'Notify me' }).click();
    await page.getByRole('button', { name: 'Notify me' }).waitFor({ state: 'detached' });
    await turn(page, 'hidden');
    asked.push(ask(4101));
    expect(await shown).toEqual(['Open a preview of port 4101?', 'The agent of For my agent asks.']);
    await turn(page, 'visible');
    const { approvals } = (await here.porthole.call('GET', '/api/approvals')).json<{
      approvals: { request_id: string }[];
    }>();
    for (const { request_id } of approvals)
      await decide(here.porthole, run.runId, { request_id, decision: 'deny' });
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([403, 403]);
    await page.close();
  });
}
