import type { Page } from 'playwright-core';
import type { TestHost } from '#test/support/in-process-host.ts';
import { signInAs } from '../support/console-fixture.ts';

/** A page of the console in one of its states. */
export interface Place {
  readonly path: () => string;
  readonly at?: () => TestHost;
  /** Actions that lead there from the path. */
  readonly press?: (page: Page) => Promise<unknown>;
  /** Waits until its content is complete. */
  readonly whole: (page: Page) => Promise<unknown>;
  readonly before?: (page: Page) => Promise<unknown>;
}
const heading = (name: string) => (page: Page) => page.getByRole('heading', { level: 1, name }).waitFor();
const button = (name: string) => (page: Page) => page.getByRole('button', { name }).click();
const dialog = (name: string) => (page: Page) => page.getByRole('dialog', { name }).waitFor();

interface Made {
  /** Asks for a key. */
  readonly secured: TestHost;
  /** Has no run. */
  readonly fresh: TestHost;
  readonly runId: string;
  readonly sandboxId: string;
  readonly toolId: string;
}

/** All pages of the console, and their states. */
export function placesOf(of: () => Made): Readonly<Record<string, Place>> {
  return {
    runs: {
      path: () => '/',
      whole: (page) => page.getByRole('link', { name: 'Rebuild the pricing page' }).first().waitFor(),
    },
    'a new run': {
      path: () => '/',
      press: button('New run'),
      whole: dialog('New run'),
    },
    'a run': {
      path: () => `/runs/${of().runId}`,
      whole: (page) => page.locator('.page-head [role=status]').getByText('running').waitFor(),
    },
    'a run to share': {
      path: () => `/runs/${of().runId}`,
      before: (page) => signInAs(page, 'alice'),
      press: button('Share run'),
      whole: dialog('Share this run'),
    },
    'the terminal of a run': {
      path: () => `/runs/${of().runId}?pane=terminal`,
      whole: (page) => page.getByText('Connected').waitFor(),
    },
    'the files of a run': {
      path: () => `/runs/${of().runId}?pane=files`,
      whole: (page) => page.locator('.files').waitFor(),
    },
    sandboxes: { path: () => '/sandboxes', whole: (page) => page.getByRole('table').waitFor() },
    'a new sandbox': {
      path: () => '/sandboxes',
      press: button('New sandbox'),
      whole: dialog('New sandbox'),
    },
    'a terminal': {
      path: () => `/sandboxes/${of().sandboxId}`,
      whole: (page) => page.getByText('Connected').waitFor(),
    },
    files: {
      path: () => `/sandboxes/${of().sandboxId}?pane=files`,
      whole: (page) => page.locator('.files').waitFor(),
    },
    tools: {
      path: () => '/tools',
      whole: (page) => page.getByRole('link', { name: 'Price check' }).waitFor(),
    },
    'a new tool': {
      path: () => '/tools',
      press: button('New tool'),
      whole: dialog('New tool'),
    },
    'a tool': {
      path: () => `/tools/${of().toolId}`,
      whole: (page) => page.getByRole('textbox', { name: 'Code of the tool' }).waitFor(),
    },
    docs: { path: () => '/docs', whole: heading('Documentation') },
    'a document': { path: () => '/docs/claude-code', whole: heading('Claude Code') },
    settings: { path: () => '/settings', whole: heading('Settings') },
    keys: {
      path: () => '/settings/keys',
      whole: (page) => page.getByText('Nightly build').waitFor(),
    },
    'a new key': {
      path: () => '/settings/keys',
      press: button('New key'),
      whole: dialog('New key'),
    },
    people: {
      path: () => '/settings/people',
      before: (page) => signInAs(page, 'alice'),
      whole: (page) => page.getByRole('table').waitFor(),
    },
    usage: {
      path: () => '/settings/usage',
      whole: (page) => page.getByRole('heading', { name: 'Your usage' }).waitFor(),
    },
    'the audit': {
      path: () => '/settings/audit',
      whole: (page) => page.getByText('sandbox.created').first().waitFor(),
    },
    'the installation': {
      path: () => '/settings/about',
      whole: (page) => page.getByRole('heading', { name: 'Installation' }).waitFor(),
    },
    'the first start': {
      path: () => '/',
      at: () => of().fresh,
      whole: (page) => page.getByRole('button', { name: 'Try it' }).waitFor(),
    },
    'the way of a project': {
      path: () => '/',
      at: () => of().fresh,
      press: button('Show the command'),
      whole: (page) => page.getByText('Waiting for your project…').waitFor(),
    },
    'the sign-in': {
      path: () => '/',
      at: () => of().secured,
      whole: (page) => page.getByLabel('API key').waitFor(),
    },
    'a run that is not there': { path: () => '/runs/unknown', whole: heading('There is no such run') },
    'a sandbox that is not there': {
      path: () => '/sandboxes/unknown',
      whole: heading('There is no such sandbox'),
    },
    'a tool that is not there': { path: () => '/tools/unknown', whole: heading('There is no such tool') },
    'an API that answers with an error': {
      path: () => '/sandboxes',
      before: (page) =>
        page.route('**/v1/sandbox?*', (route) =>
          route.fulfill({
            status: 503,
            json: { error: 'The database cannot be asked right now.', code: 'service_unavailable' },
          }),
        ),
      whole: (page) => page.getByRole('alert').getByText('The database cannot be asked').waitFor(),
    },
    'a page that broke': {
      path: () => '/',
      before: (page) =>
        page.route('**/api/runs?*', (route) => route.fulfill({ json: { runs: [null], next: null } })),
      whole: heading('This page broke'),
    },
  };
}
