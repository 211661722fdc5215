import { createContext, use } from 'react';
import type { Answer } from '../api/client.ts';

/** The signed-in person. */
export type Person = Answer<'GET /api/session'>;

/** A part of Porthole that an installation can switch off. */
export type Feature = Person['features'][number];

export const PersonContext = createContext<Person | undefined>(undefined);

export function usePerson(): Person {
  const person = use(PersonContext);
  if (person === undefined) throw new Error('Only a page of a signed-in person has a person');
  return person;
}

/** Whether this Porthole has one user, who need not sign in. */
export function useIsOnlyUser(): boolean {
  return usePerson().user === 'local';
}

/** Whether the feature is on; true for what belongs to none. */
export function useIsOn(): (name: Feature | undefined) => boolean {
  const { features } = usePerson();
  return (name) => name === undefined || features.includes(name);
}
