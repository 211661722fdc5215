import type { ITheme } from '@xterm/xterm';

/**
 * The sixteen ANSI colours, on dark and on light: each is readable on its background. The minimum
 * contrast of the terminal handles the others.
 */
const COLOURS = {
  background: ['#0d1117', '#ffffff'],
  foreground: ['#e6edf3', '#1f2328'],
  cursor: ['#58a6ff', '#1f5eff'],
  cursorAccent: ['#0d1117', '#ffffff'],
  selectionBackground: ['#264f78', '#b6d4fe'],
  black: ['#484f58', '#24292f'],
  red: ['#ff7b72', '#cf222e'],
  green: ['#3fb950', '#116329'],
  yellow: ['#d29922', '#7d4e00'],
  blue: ['#58a6ff', '#0969da'],
  magenta: ['#bc8cff', '#8250df'],
  cyan: ['#39c5cf', '#1b7c83'],
  white: ['#b1bac4', '#6e7781'],
  brightBlack: ['#8b949e', '#57606a'],
  brightRed: ['#ffa198', '#a40e26'],
  brightGreen: ['#56d364', '#1a7f37'],
  brightYellow: ['#e3b341', '#633c01'],
  brightBlue: ['#79c0ff', '#0550ae'],
  brightMagenta: ['#d2a8ff', '#6639ba'],
  brightCyan: ['#56d4dd', '#1b7c83'],
  brightWhite: ['#ffffff', '#57606a'],
} as const satisfies Partial<Record<keyof ITheme, readonly [dark: string, light: string]>>;

const themeOf = (at: 0 | 1): ITheme =>
  Object.fromEntries(Object.entries(COLOURS).map(([name, colours]) => [name, colours[at]]));

export const DARK = themeOf(0);
export const LIGHT = themeOf(1);
