/** Features that an installation can switch off. `handlers/features.ts` has the routes of each. */
export const OPTIONAL_FEATURES = ['bridge', 'e2b', 'editor', 'mcp', 'pages'] as const;
export type OptionalFeature = (typeof OPTIONAL_FEATURES)[number];

/** The names in a text, separated by commas. */
export function namesOf(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
