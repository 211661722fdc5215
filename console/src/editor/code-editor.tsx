import { javascript } from '@codemirror/lang-javascript';
import { json } from '@codemirror/lang-json';
import { python } from '@codemirror/lang-python';
import { EditorState, type Extension } from '@codemirror/state';
import { oneDark } from '@codemirror/theme-one-dark';
import { closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import {
  bracketMatching,
  defaultHighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { useEffect, useRef } from 'react';

export interface CodeEditorProps {
  readonly label: string;
  /** What it begins with; it is read when the file is another one. */
  readonly initial: string;
  /** By its ending: `py`, `json`, `js`, `ts`, `jsx`, `tsx`; anything else is plain text. */
  readonly language: string;
  readonly onChange: (text: string) => void;
  readonly readOnly?: boolean;
}

function languageOf(ending: string): Extension {
  if (ending === 'py') return python();
  if (ending === 'json') return json();
  if (/^[cm]?[jt]sx?$/.test(ending)) {
    return javascript({ typescript: ending.includes('t'), jsx: ending.endsWith('x') });
  }
  return [];
}

/** A code editor. It stands in a shadow tree, where its styles are adopted sheets: as elements in the page they would be inline ones. */
export default function CodeEditor({
  label,
  initial,
  language,
  onChange,
  readOnly = false,
}: CodeEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const listener = useRef(onChange);
  listener.current = onChange;
  useEffect(() => {
    const host = place.current;
    if (host === null) return undefined;
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    const view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: initial,
        extensions: [
          lineNumbers(),
          history(),
          // Tab is left to the page: whoever has only a keyboard must get out of here.
          keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap]),
          drawSelection(),
          highlightActiveLine(),
          bracketMatching(),
          closeBrackets(),
          indentOnInput(),
          syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
          languageOf(language),
          dark ? oneDark : [],
          EditorState.readOnly.of(readOnly),
          EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
          EditorView.theme({
            '&': { height: '100%', fontSize: '13px' },
            '.cm-scroller': { fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, monospace' },
          }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) listener.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    return () => view.destroy();
  }, [initial, language, label, readOnly]);
  return <div ref={place} className="code" />;
}
