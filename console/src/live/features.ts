import { createContext, useContext } from 'react';
import type { Answer } from '../api/client.ts';

/** A part of Porthole that an installation can switch off. */
export type Feature = Answer<'GET /api/session'>['features'][number];

/** The features that are on. */
export const FeaturesContext = createContext<ReadonlySet<Feature>>(new Set());

/** Whether the feature is on; true for what belongs to none. */
export function useIsOn(): (name: Feature | undefined) => boolean {
  const features = useContext(FeaturesContext);
  return (name) => name === undefined || features.has(name);
}
