export type Theme = 'system' | 'light' | 'dark';

/** A preference, not a secret: stored in the browser. */
const KEY = 'porthole-theme';
const DARK = '(prefers-color-scheme: dark)';
const CHANGED = 'porthole-theme-changed';

export function chosenTheme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

/** Applies the choice to the page: colours are `light-dark()` of its colour scheme. */
export function applyTheme(): void {
  const theme = chosenTheme();
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  window.dispatchEvent(new Event(CHANGED));
}

export function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  applyTheme();
}

/** Whether the page is dark now, for what does not use its style sheet. */
export function isDark(): boolean {
  const theme = chosenTheme();
  return theme === 'system' ? matchMedia(DARK).matches : theme === 'dark';
}

/** Calls the listener after each change of the page's colours, until the signal aborts. */
export function onThemeChange(listener: () => void, signal: AbortSignal): void {
  matchMedia(DARK).addEventListener('change', listener, { signal });
  window.addEventListener(CHANGED, listener, { signal });
}
