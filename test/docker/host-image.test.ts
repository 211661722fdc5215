/** The image of the function host, built from its Dockerfile and run unchanged. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { type Build, imagesMissing, say, withBuilds } from '#test/cluster/images/built-images.ts';
import { IMAGE_RECIPES } from '#test/cluster/images/image-recipe.ts';
import { chromiumMissing, launchChromium } from '#test/support/chromium.ts';
import { suite } from '#test/support/suite.ts';
import { engineMissing, openTestEngine, type TestEngine } from './support/engine.ts';
import { freePort } from '#test/support/free-port.ts';

const KEY = 'a-key-of-alice-0123';
const MINUTE = 60_000;
const RECIPES = { functionHost: IMAGE_RECIPES.functionHost };

suite('the image of the function host', engineMissing() ?? chromiumMissing ?? imagesMissing(RECIPES), () => {
  let engine: TestEngine;
  let browser: Browser;
  let end: (() => Promise<void>) | undefined;
  let url: string;

  beforeAll(async () => {
    [engine, browser] = await Promise.all([openTestEngine(), launchChromium()]);
    const image = await withBuilds(RECIPES, say, ([build]) => engine.loadBuilt(build as Build));
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const container = await engine.docker.createContainer({
      Image: image,
      Env: [
        'HOST=127.0.0.1',
        `PORT=${port}`,
        `PORTHOLE_API_KEYS=${JSON.stringify({ [KEY]: { user: 'alice', org: 'acme' } })}`,
      ],
      HostConfig: {
        NetworkMode: 'host',
        ReadonlyRootfs: true,
        Tmpfs: { '/tmp': '', '/var/lib/porthole': 'uid=10001' },
      },
    });
    end = () => container.remove({ force: true, v: true });
    const log = await container.attach({ stream: true, stdout: true, stderr: true });
    await container.start();
    let said = '';
    for await (const chunk of log) {
      said += String(chunk);
      if (said.includes('Porthole is up')) break;
    }
    expect(said).toContain('Porthole is up');
  }, 15 * MINUTE);
  afterAll(async () => {
    await browser?.close();
    await end?.();
    await engine?.stop();
  }, MINUTE);

  test(
    'has the console built, and people sign in to it',
    async () => {
      const page = await browser.newPage();
      await page.goto(`${url}/sandboxes`);
      await page.getByLabel('API key').fill(KEY);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Sandboxes' }).waitFor();
    },
    MINUTE,
  );

  test('hands its files out compressed, for ever', async () => {
    const html = await (await fetch(url)).text();
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(html)?.[1] ?? '';
    const { status, headers } = await fetch(url + script, { headers: { 'accept-encoding': 'br' } });
    expect([status, headers.get('content-encoding'), headers.get('cache-control')]).toEqual([
      200,
      'br',
      'public, max-age=31536000, immutable',
    ]);
  });
});
