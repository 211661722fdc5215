import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createPageBrowser } from '#adapters/browser/chromium-pages.ts';
import { createRemotePages } from '#adapters/browser/remote-pages.ts';
import { ownerOf } from '#adapters/local/drop-root.ts';
import type { PageBrowser, PageVisit } from '#core/pages/page-browser.ts';
import {
  authorityFiles,
  issueCertificate,
  makeAuthority,
} from '#test/cluster/fixture/certificate-authority.ts';
import { GUEST_KEYS, startBrowserServer } from '#test/support/browser-server.ts';
import { chromiumMissing } from '#test/support/chromium.ts';
import { type Missing, suite } from '#test/support/suite.ts';

const PAGES: Readonly<Record<string, string>> = {
  '/': `<!doctype html><title>Shop</title><h1>Orders</h1><button id="add" onclick="out.textContent = 'Added'">Add</button><p id="out"></p>`,
  '/hangs': '<!doctype html><title>Hangs</title><script>for (;;);</script>',
  '/hangs-late':
    '<!doctype html><title>Hangs</title><script>setTimeout(() => { for (;;); }, 11_000);</script>',
  '/fills': `<!doctype html><title>Fills</title><script>const all = []; for (;;) all.push(new Uint8Array(1e7).fill(1));</script>`,
};
const LIMIT = 120_000;

interface Opened {
  readonly pages: PageBrowser;
  end(): Promise<void>;
}

const failed = (): void => undefined;

const PLAIN = {
  path: '/',
  siblings: [],
  viewport: { width: 800, height: 600, scale: 1, mobile: false },
  steps: [],
  waitFor: undefined,
  picture: undefined,
};

function certutilMissing(): Missing {
  try {
    execFileSync('certutil', ['--version'], { stdio: 'ignore' });
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'certutil is not installed: apt-get install libnss3-tools' : undefined;
  }
}

function notRoot(): Missing {
  return ownerOf('browser') === undefined ? 'the tests do not run as root on Linux' : undefined;
}

function notLinux(): Missing {
  return process.platform === 'linux' ? undefined : 'the tests do not run on Linux';
}

/** Each opens one page at a time. */
const OPEN: Readonly<Record<string, () => Promise<Opened>>> = {
  'of this machine': () => {
    const pages = createPageBrowser({ program: undefined, pages: 1, failed });
    return Promise.resolve({ pages, end: () => pages.close() });
  },
  'beside a browser server': async () => {
    const server = await startBrowserServer({ PORTHOLE_BROWSERS_PAGES: '1' });
    return {
      pages: createRemotePages({ url: server.url, keys: GUEST_KEYS, failed }),
      end: () => server.end(),
    };
  },
};

function createApp() {
  return createServer((request, response) => {
    const page = PAGES[request.url ?? ''];
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html' }).end(page);
  });
}

for (const [where, open] of Object.entries(OPEN)) {
  suite(`the browser ${where}`, chromiumMissing, () => {
    const app = createApp();
    let opened: Opened;
    let origin: string;

    beforeAll(async () => {
      app.listen(0, '127.0.0.1');
      await once(app, 'listening');
      origin = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
      opened = await open();
    });
    afterAll(async () => {
      await opened?.end();
      app.close();
    });

    const visit = (more: Partial<PageVisit> = {}, signal?: AbortSignal) =>
      opened.pages.observe({ ...PLAIN, origin, ...more }, 'ada', signal);

    test(
      'reports a page, its picture, the difference to an earlier one, and an element',
      async () => {
        const first = await visit({ picture: { fullPage: false } });
        expect(first).toMatchObject({
          status: 200,
          facts: { title: 'Shop' },
          outline: expect.stringContaining('button "Add"'),
          picture: { mediaType: 'image/png', width: 800, height: 600 },
          difference: null,
        });
        const again = await visit({
          picture: { fullPage: false },
          previous: first.picture ?? undefined,
          steps: [{ action: 'click', selector: '#add' }],
          waitFor: { text: 'Added' },
          point: { x: 20, y: 80 },
        });
        expect(again).toMatchObject({ failedStep: null, element: { selector: '#add', role: 'button' } });
        expect(again.difference?.changedPixels).toBeGreaterThan(0);
      },
      LIMIT,
    );

    test(
      'takes no picture for a check',
      async () => {
        expect(await visit()).toMatchObject({ status: 200, picture: null, outline: null, element: null });
      },
      LIMIT,
    );

    test(
      'ends a page that hangs, and one that fills the memory, and visits the next one',
      async () => {
        expect((await visit({ path: '/hangs' })).interruption).toBe('unresponsive');
        expect((await visit({ path: '/fills' })).interruption).not.toBeNull();
        expect(await visit()).toMatchObject({ interruption: null, facts: { title: 'Shop' } });
      },
      LIMIT,
    );

    test(
      'gives the place of a caller that goes away to the next one',
      async () => {
        const caller = new AbortController();
        const arrived = once(app, 'request');
        const answer = visit({ path: '/hangs' }, caller.signal).catch((error: Error) => error.message);
        await arrived;
        caller.abort(new Error('gone'));
        expect(await answer).toBe('gone');
        expect(await visit()).toMatchObject({ status: 200, facts: { title: 'Shop' } });
      },
      LIMIT,
    );

    test(
      'refuses what is past the waiting limit, and answers the others',
      async () => {
        // One is open, and 32 wait.
        const codes = Array.from({ length: 34 }, () =>
          visit().then(
            ({ status }) => status,
            ({ code }: { code?: string }) => code,
          ),
        );
        expect((await Promise.all(codes)).filter((each) => each !== 200)).toEqual(['too_many_looks']);
      },
      LIMIT,
    );
  });
}

/** User ids (real and effective) of the processes below this one, by their command line. */
async function usersBelow(parent: number): Promise<Map<string, string>> {
  const users = new Map<string, string>();
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
    const status = await read('status');
    if (Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]) !== parent) continue;
    const [, real, effective] = /^Uid:\s+(\d+)\s+(\d+)/m.exec(status) ?? [];
    users.set(`${pid} ${(await read('cmdline')).replaceAll('\0', ' ')}`, `${real} ${effective}`);
    for (const [command, user] of await usersBelow(Number(pid))) users.set(command, user);
  }
  return users;
}

suite('a browser of a host that is root', chromiumMissing ?? notRoot(), () => {
  test(
    'runs as another user, with its own sandbox where that user may make namespaces',
    async () => {
      const app = createApp().listen(0, '127.0.0.1');
      await once(app, 'listening');
      const origin = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
      const pages = createPageBrowser({ program: undefined, pages: 1, failed });
      try {
        expect(await pages.observe({ ...PLAIN, origin }, 'ada')).toMatchObject({ status: 200 });
        const below = [...(await usersBelow(process.pid))];
        const browsers = below.filter(([command]) => /browser-process|--type=|--headless/.test(command));
        expect(browsers.length).toBeGreaterThan(2);
        const user = ownerOf('browser');
        expect(new Set(browsers.map(([, ids]) => ids))).toEqual(new Set([`${user} ${user}`]));
        const id = Number(user);
        const { status } = spawnSync('unshare', ['--user', '--map-root-user', '--net', 'true'], {
          uid: id,
          gid: id,
          cwd: '/',
        });
        const isUnsandboxed = browsers.some(([command]) => command.includes('--no-sandbox'));
        expect(isUnsandboxed).toBe(status !== 0);
      } finally {
        await pages.close();
        app.close().closeAllConnections();
      }
    },
    LIMIT,
  );
});

suite('a browser that two looks share', chromiumMissing, () => {
  test(
    'accuses no page where too little time is left to visit it alone',
    async () => {
      const app = createApp().listen(0, '127.0.0.1');
      await once(app, 'listening');
      const origin = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
      const pages = createPageBrowser({ program: undefined, pages: 2, failed });
      const steps = [{ action: 'wait', milliseconds: 30_000 }] as const;
      const look = (owner: string) => pages.observe({ ...PLAIN, origin, path: '/hangs-late', steps }, owner);
      try {
        const unmeasured = { status: 200, facts: null, interruption: null };
        expect(await Promise.all(['ada', 'bob'].map(look))).toMatchObject([unmeasured, unmeasured]);
      } finally {
        await pages.close();
        app.close().closeAllConnections();
      }
    },
    LIMIT,
  );
});

suite('a browser process that ends', chromiumMissing ?? notLinux(), () => {
  const processOf = async () =>
    [...(await usersBelow(process.pid)).keys()].find((command) => command.includes('browser-process'));

  test(
    'answers the looks in it from another one',
    async () => {
      const app = createApp().listen(0, '127.0.0.1');
      await once(app, 'listening');
      const origin = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
      const reasons: string[] = [];
      const pages = createPageBrowser({
        program: undefined,
        pages: 2,
        failed: (reason) => reasons.push(reason),
      });
      const steps = [{ action: 'wait', milliseconds: 1_000 }] as const;
      try {
        const arrived = once(app, 'request');
        const looks = ['ada', 'bob'].map((owner) => pages.observe({ ...PLAIN, origin, steps }, owner));
        await arrived;
        process.kill(Number.parseInt(String(await processOf()), 10), 'SIGKILL');
        const shop = { status: 200, facts: { title: 'Shop' } };
        expect(await Promise.all(looks)).toMatchObject([shop, shop]);
        expect(reasons).toEqual(['The browser process ended: SIGKILL']);
      } finally {
        await pages.close();
        app.close().closeAllConnections();
      }
    },
    LIMIT,
  );

  test(
    'repeats no look where its host closes',
    async () => {
      const app = createApp().listen(0, '127.0.0.1');
      await once(app, 'listening');
      const origin = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
      const pages = createPageBrowser({ program: undefined, failed });
      const steps = [{ action: 'wait', milliseconds: 10_000 }] as const;
      try {
        const arrived = once(app, 'request');
        const answer = pages
          .observe({ ...PLAIN, origin, steps }, 'ada')
          .catch(({ code }: { code?: string }) => code);
        await arrived;
        await pages.close();
        expect([await answer, await processOf()]).toEqual(['browser_failed', undefined]);
      } finally {
        await pages.close();
        app.close().closeAllConnections();
      }
    },
    LIMIT,
  );
});

suite('a browser server with an authority', chromiumMissing ?? certutilMissing(), () => {
  test(
    'opens a page with a certificate of it, which others refuse',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'porthole-authority-'));
      await makeAuthority(folder);
      const { certificate, key } = await issueCertificate(folder, 'app', {
        commonName: 'app',
        use: 'server',
        dnsNames: ['localhost'],
      });
      const app = createHttpsServer({ cert: certificate, key }, (_, response) => {
        response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Shop</title><h1>Orders</h1>');
      }).listen(0, '127.0.0.1');
      await once(app, 'listening');
      const origin = `https://localhost:${(app.address() as AddressInfo).port}`;
      const observe = async (environment: Readonly<Record<string, string>>) => {
        const server = await startBrowserServer(environment);
        try {
          const pages = createRemotePages({ url: server.url, keys: GUEST_KEYS, failed });
          return await pages.observe({ ...PLAIN, origin }, 'ada');
        } finally {
          await server.end();
        }
      };
      try {
        const trusting = await observe({
          PORTHOLE_BROWSERS_AUTHORITIES: authorityFiles(folder).certificate,
        });
        expect(trusting).toMatchObject({ status: 200, facts: { title: 'Shop' } });
        expect((await observe({})).navigationError).toBe('net::ERR_CERT_AUTHORITY_INVALID');
      } finally {
        app.close();
        await rm(folder, { recursive: true });
      }
    },
    LIMIT,
  );
});
