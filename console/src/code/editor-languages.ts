import { indentUnit, StreamLanguage, type StreamParser } from '@codemirror/language';
import type { Extension } from '@codemirror/state';

const legacy = (parser: StreamParser<unknown>): Extension => StreamLanguage.define(parser);

/** Loads a language when a file of it is opened. By file extension, in lower case. */
const LANGUAGES: readonly (readonly [names: string, load: () => Promise<Extension>])[] = [
  ['json jsonc webmanifest', () => import('@codemirror/lang-json').then((each) => each.json())],
  ['py pyi', () => import('@codemirror/lang-python').then((each) => [each.python(), indentUnit.of('    ')])],
  ['html htm vue svelte astro', () => import('@codemirror/lang-html').then((each) => each.html())],
  ['css', () => import('@codemirror/lang-css').then((each) => each.css())],
  ['md mdx markdown', () => import('@codemirror/lang-markdown').then((each) => each.markdown())],
  ['yaml yml', () => import('@codemirror/lang-yaml').then((each) => each.yaml())],
  ['xml svg', () => import('@codemirror/lang-xml').then((each) => each.xml())],
  ['sql', () => import('@codemirror/lang-sql').then((each) => each.sql())],
  ['rs', () => import('@codemirror/lang-rust').then((each) => each.rust())],
  ['go', () => import('@codemirror/lang-go').then((each) => each.go())],
  ['java', () => import('@codemirror/lang-java').then((each) => each.java())],
  ['c h cc cpp cxx hpp', () => import('@codemirror/lang-cpp').then((each) => each.cpp())],
  ['php', () => import('@codemirror/lang-php').then((each) => each.php())],
  ['scss sass less', () => import('@codemirror/legacy-modes/mode/css').then((each) => legacy(each.sCSS))],
  ['rb rake gemfile', () => import('@codemirror/legacy-modes/mode/ruby').then((each) => legacy(each.ruby))],
  [
    'sh bash zsh env bashrc profile',
    () => import('@codemirror/legacy-modes/mode/shell').then((each) => legacy(each.shell)),
  ],
  [
    'dockerfile containerfile',
    () => import('@codemirror/legacy-modes/mode/dockerfile').then((each) => legacy(each.dockerFile)),
  ],
  ['toml', () => import('@codemirror/legacy-modes/mode/toml').then((each) => legacy(each.toml))],
  [
    'ini properties cfg conf',
    () => import('@codemirror/legacy-modes/mode/properties').then((each) => legacy(each.properties)),
  ],
  ['kt kts', () => import('@codemirror/legacy-modes/mode/clike').then((each) => legacy(each.kotlin))],
  ['cs', () => import('@codemirror/legacy-modes/mode/clike').then((each) => legacy(each.csharp))],
  ['scala', () => import('@codemirror/legacy-modes/mode/clike').then((each) => legacy(each.scala))],
  ['swift', () => import('@codemirror/legacy-modes/mode/swift').then((each) => legacy(each.swift))],
  ['lua', () => import('@codemirror/legacy-modes/mode/lua').then((each) => legacy(each.lua))],
  ['diff patch', () => import('@codemirror/legacy-modes/mode/diff').then((each) => legacy(each.diff))],
];

const BY_ENDING = new Map(
  LANGUAGES.flatMap(([names, load]) => names.split(' ').map((name) => [name, load] as const)),
);

/**
 * The language of a file, by its extension; undefined: plain text.
 * @param ending in lower case, without a dot; of files such as `Dockerfile` the name
 */
export function languageLoader(ending: string): (() => Promise<Extension>) | undefined {
  if (!/^[cm]?[jt]sx?$/.test(ending)) return BY_ENDING.get(ending);
  return async () => {
    const { javascript } = await import('@codemirror/lang-javascript');
    return javascript({ typescript: ending.includes('t'), jsx: ending.endsWith('x') });
  };
}
