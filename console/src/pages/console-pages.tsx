import type { ReactNode } from 'react';
import { INDEX } from '../docs/document-links.ts';
import { type Feature, useIsOn } from '../live/person.ts';
import { type IconName } from '../parts/elements.tsx';
import { lazyPart } from '../parts/lazy-part.tsx';
import { RunsPage } from './runs-page.tsx';
import { SandboxesPage } from './sandboxes-page.tsx';

// The lists are the first load; each other page is loaded when it is opened.
const RunPage = lazyPart(async () => ({ default: (await import('./run-page.tsx')).RunPage }));
const SandboxPage = lazyPart(async () => ({ default: (await import('./sandbox-page.tsx')).SandboxPage }));
const ToolsPage = lazyPart(() => import('./tools-page.tsx'));
const SettingsPage = lazyPart(() => import('../settings/settings-page.tsx'));
const DocsPage = lazyPart(() => import('../docs/docs-page.tsx'));
const ToolPage = lazyPart(() => import('./tool-page.tsx'));

interface ConsolePage {
  /** The server has a route for each (`handlers/console/console-page.ts`). */
  readonly path: string;
  /** The feature that it belongs to, if that can be off. */
  readonly feature?: Feature;
  /** Its link in the navigation and the commands. Pages of a single object have none. */
  readonly link?: { readonly name: string; readonly icon: IconName };
  readonly show: (props: { readonly id: string }) => ReactNode;
}

/** All pages of the console, in the order of their links. */
const CONSOLE_PAGES: readonly ConsolePage[] = [
  {
    path: '/',
    link: { name: 'Runs', icon: 'runs' },
    show: () => <RunsPage />,
  },
  { path: '/runs/:id', show: ({ id }) => <RunPage key={id} id={id} /> },
  {
    path: '/sandboxes',
    link: { name: 'Sandboxes', icon: 'box' },
    show: () => <SandboxesPage />,
  },
  { path: '/sandboxes/:id', show: ({ id }) => <SandboxPage key={id} id={id} /> },
  { path: '/tools', feature: 'editor', link: { name: 'Tools', icon: 'code' }, show: () => <ToolsPage /> },
  { path: '/tools/:id', feature: 'editor', show: ({ id }) => <ToolPage key={id} id={id} /> },
  { path: '/docs', link: { name: 'Docs', icon: 'file' }, show: () => <DocsPage id={INDEX} /> },
  { path: '/docs/:id', show: ({ id }) => <DocsPage key={id} id={id} /> },
  {
    path: '/settings',
    link: { name: 'Settings', icon: 'settings' },
    show: () => <SettingsPage id="" />,
  },
  {
    path: '/settings/:id',
    show: ({ id }) => <SettingsPage key={id} id={id} />,
  },
];

/** The pages of the features that are on. */
export function useConsolePages(): readonly ConsolePage[] {
  const isOn = useIsOn();
  return CONSOLE_PAGES.filter(({ feature }) => isOn(feature));
}

/** The pages of the navigation and the commands. */
export function useLinkedPages() {
  return useConsolePages().flatMap(({ path, link }) => (link === undefined ? [] : [{ href: path, ...link }]));
}
