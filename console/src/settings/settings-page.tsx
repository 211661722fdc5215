import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useIsOnlyUser, usePerson } from '../live/person.ts';
import { Missing } from '../parts/elements.tsx';
import { About } from './about.tsx';
import { Audit } from './audit.tsx';
import { General } from './general.tsx';
import { Keys } from './keys.tsx';
import { People } from './people.tsx';
import { Usage } from './usage.tsx';
import { Webhooks } from './webhooks.tsx';
import './settings.css';

interface Section {
  readonly id: string;
  readonly name: string;
  readonly show: () => ReactNode;
  /** @default always */
  readonly isShown?: (to: { readonly isOnlyUser: boolean; readonly admin: boolean }) => boolean;
}

const SECTIONS: readonly Section[] = [
  { id: '', name: 'General', show: () => <General /> },
  { id: 'keys', name: 'Keys', show: () => <Keys /> },
  { id: 'webhooks', name: 'Webhooks', show: () => <Webhooks /> },
  { id: 'people', name: 'People', show: () => <People />, isShown: ({ isOnlyUser }) => !isOnlyUser },
  { id: 'usage', name: 'Usage', show: () => <Usage /> },
  { id: 'audit', name: 'Audit', show: () => <Audit />, isShown: ({ admin }) => admin },
  { id: 'about', name: 'About', show: () => <About /> },
];

interface SettingsPageProps {
  /** Of the section; empty: the first. */
  readonly id: string;
}

/** Preferences of this browser, and what concerns the person and the installation. */
export default function SettingsPage({ id }: SettingsPageProps) {
  const isOnlyUser = useIsOnlyUser();
  const { admin } = usePerson();
  const sections = SECTIONS.filter(({ isShown }) => isShown?.({ isOnlyUser, admin }) ?? true);
  const section = sections.find((each) => each.id === id);
  if (section === undefined) return <Missing what="page" />;
  return (
    <div className="settings">
      <div className="page-head">
        <h1>{section.id === '' ? 'Settings' : section.name}</h1>
      </div>
      <nav className="sections" aria-label="Settings">
        {sections.map(({ id: each, name }) => (
          <Link
            key={each}
            href={each === '' ? '/settings' : `/settings/${each}`}
            aria-current={each === id ? 'page' : undefined}
          >
            {name}
          </Link>
        ))}
      </nav>
      <div className="section">{section.show()}</div>
    </div>
  );
}
