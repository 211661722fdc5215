import { closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import {
  bracketMatching,
  defaultHighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import { oneDark } from '@codemirror/theme-one-dark';
import {
  Decoration,
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { useEffect, useEffectEvent, useRef } from 'react';
import { isDark, onThemeChange } from '../live/theme.ts';
import { languageLoader } from './editor-languages.ts';

interface CodeEditorProps {
  readonly label: string;
  /**
   * Its content. A changed value that the editor did not emit replaces the text, and can be undone.
   */
  readonly initial: string;
  /** By file extension, such as `py`; an unknown one is plain text. */
  readonly language: string;
  readonly onChange: (text: string) => void;
  readonly readOnly?: boolean;
  /** Shows this line, from 1, and selects it. */
  readonly line?: number | undefined;
  /** The problem's range, as offsets into the text. */
  readonly problem?: { readonly from: number; readonly to: number } | undefined;
}

/** Announced to screen readers, and shown below. */
const WAY_OUT = 'Tab indents. Esc and then Tab leaves the editor.';

function accessOf(label: string, readOnly: boolean, isWrong: boolean): Extension {
  return [
    EditorState.readOnly.of(readOnly),
    EditorView.contentAttributes.of({
      'aria-label': label,
      'aria-describedby': 'way-out',
      tabindex: '0',
      ...(readOnly ? { 'aria-readonly': 'true' } : {}),
      ...(isWrong ? { 'aria-invalid': 'true' } : {}),
    }),
  ];
}

const MARK = Decoration.mark({ class: 'cm-wrong' });
const LINE = Decoration.line({ class: 'cm-wrong-line' });

function marksOf(problem: CodeEditorProps['problem']): Extension {
  if (problem === undefined) return [];
  return EditorView.decorations.of(({ state }) => {
    const { length } = state.doc;
    const from = Math.min(problem.from, length);
    const to = Math.min(Math.max(problem.to, from), length);
    const line = state.doc.lineAt(from);
    return Decoration.set([LINE.range(line.from), ...(to > from ? [MARK.range(from, to)] : [])], true);
  });
}

const THEME = EditorView.theme({
  '&': { height: '100%', fontSize: '13px' },
  '.cm-scroller': { fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, monospace' },
  '.cm-wrong': { textDecoration: 'underline wavy #d92d3f 1px', textUnderlineOffset: '3px' },
  '.cm-wrong-line': { backgroundColor: '#d92d3f22' },
});

/** The page's background: each colour of the theme is readable on it. */
const DARKER = EditorView.theme({ '&, & .cm-gutters': { backgroundColor: 'var(--card)' } }, { dark: true });
const themeOf = () => (isDark() ? [DARKER, oneDark] : []);

interface Parts {
  readonly view: EditorView;
  readonly language: Compartment;
  readonly access: Compartment;
  readonly marks: Compartment;
}

/**
 * A code editor in a shadow tree. CSP: its styles are adopted sheets, because inline styles are
 * forbidden.
 */
export default function CodeEditor({
  label,
  initial,
  language,
  onChange,
  readOnly = false,
  line,
  problem,
}: CodeEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const parts = useRef<Parts>(undefined);
  /** The last value emitted or received. */
  const known = useRef(initial);
  const changed = useEffectEvent(onChange);
  const firstAccess = useEffectEvent(() => accessOf(label, readOnly, false));

  useEffect(() => {
    const host = place.current;
    if (host === null) return undefined;
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
    const out = document.createElement('p');
    out.id = 'way-out';
    out.hidden = true;
    out.textContent = WAY_OUT;
    root.append(out);
    const [lang, access, marks, theme] = [
      new Compartment(),
      new Compartment(),
      new Compartment(),
      new Compartment(),
    ];
    const view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: known.current,
        extensions: [
          lineNumbers(),
          history(),
          keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
          drawSelection(),
          highlightActiveLine(),
          bracketMatching(),
          closeBrackets(),
          indentOnInput(),
          syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
          lang.of(EditorView.lineWrapping),
          access.of(firstAccess()),
          marks.of([]),
          theme.of(themeOf()),
          THEME,
          EditorView.updateListener.of((update) => {
            if (!update.docChanged) return;
            known.current = update.state.doc.toString();
            changed(known.current);
          }),
        ],
      }),
    });
    parts.current = { view, language: lang, access, marks };
    const ended = new AbortController();
    onThemeChange(() => view.dispatch({ effects: theme.reconfigure(themeOf()) }), ended.signal);
    return () => {
      ended.abort();
      parts.current = undefined;
      view.destroy();
      out.remove();
    };
  }, []);

  useEffect(() => {
    const at = parts.current;
    if (at === undefined || initial === known.current) return;
    known.current = initial;
    at.view.dispatch({ changes: { from: 0, to: at.view.state.doc.length, insert: initial } });
  }, [initial]);
  useEffect(() => {
    let isCurrent = true;
    const apply = (extension: Extension) => {
      const at = parts.current;
      if (isCurrent) at?.view.dispatch({ effects: at.language.reconfigure(extension) });
    };
    // A part of a replaced build is missing: plain text is readable, too.
    languageLoader(language)?.().then(apply, () => apply(EditorView.lineWrapping));
    return () => {
      isCurrent = false;
    };
  }, [language]);
  useEffect(() => {
    const view = parts.current?.view;
    if (view === undefined || line === undefined || line < 1 || line > view.state.doc.lines) return;
    const { from, to } = view.state.doc.line(line);
    view.dispatch({
      selection: { anchor: from, head: to },
      effects: EditorView.scrollIntoView(from, { y: 'center' }),
    });
  }, [line]);
  const from = problem?.from;
  const to = problem?.to;
  useEffect(() => {
    const at = parts.current;
    const wrong = from === undefined || to === undefined ? undefined : { from, to };
    at?.view.dispatch({
      effects: [
        at.access.reconfigure(accessOf(label, readOnly, wrong !== undefined)),
        at.marks.reconfigure(marksOf(wrong)),
      ],
    });
  }, [label, readOnly, from, to]);

  return (
    <>
      <div ref={place} className="code" />
      {readOnly ? null : (
        <p className="hint way-out" aria-hidden="true">
          {WAY_OUT}
        </p>
      )}
    </>
  );
}
