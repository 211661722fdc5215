import { useCallback, useEffect, useState } from 'react';
import { Heading } from 'react-aria-components';
import { useLocation } from 'wouter';
import { DOCUMENTS } from '../docs/documents.ts';
import { documentAddress } from '../docs/document-links.ts';
import { useAnswer } from '../live/use-live.ts';
import { chooseTheme, type Theme } from '../live/theme.ts';
import { useLinkedPages } from '../pages/console-pages.tsx';
import { runName } from '../runs/run-name.ts';
import { placeAfter } from '../sandboxes/use-place.ts';
import { PANE_NAMES } from '../workspace/workspace.tsx';
import { Button, Fact } from './elements.tsx';
import { ModalDialog } from './dialog-form.tsx';
import PickDialog, { type Pick } from './pick-dialog.tsx';

/** What is open in front of the page. */
export type Palette = 'commands' | 'keys';

interface CommandPaletteProps {
  readonly shown: Palette;
  readonly onShow: (shown: Palette | undefined) => void;
}

const KEYS = [
  ['Ctrl K', 'Find a page, a run or a command'],
  ['?', 'Show this list'],
  ['F8', 'Go to the requests of agents, and back'],
  ['Ctrl P', 'Open a file by its name'],
  ['Ctrl S', 'Save the open file'],
  ['Ctrl Shift X', 'Leave a terminal'],
  ['Esc, then Tab', 'Leave the editor'],
  ['← → ↑ ↓', 'Resize the panel, on its edge'],
] as const;

const THEMES: Readonly<Record<Theme, string>> = {
  light: 'Use light colours',
  dark: 'Use dark colours',
  system: 'Use the colours of the system',
};

const PANES = {
  runs: ['preview', 'terminal', 'files', 'logs', 'network', 'inbox', 'details', 'timeline'],
  sandboxes: ['terminal', 'files', 'logs', 'network', 'details'],
} as const;

/** Pages, runs and commands by some letters, and the list of keys. */
export default function CommandPalette({ shown, onShow }: CommandPaletteProps) {
  const [path, navigate] = useLocation();
  const { value: runs } = useAnswer('GET /api/runs', { query: { limit: 50 } });
  const pages = useLinkedPages();
  const [commands] = useState(() => commandsOf(path, pages));
  useEffect(() => {
    // The focus stays in the dialog: a press on the page behind closes it.
    if (shown === 'keys') document.getElementById('keys-close')?.focus();
  }, [shown]);
  const find = useCallback(
    (text: string): readonly Pick[] => {
      const words = text.toLowerCase().split(/\s+/);
      const all = [
        ...commands,
        ...(text === '' ? [] : DOCS),
        ...(runs?.runs ?? []).map(({ run_id: id, title }) => ({
          id: `/runs/${encodeURIComponent(id)}`,
          words: runName(id, title, 100),
          note: 'Run',
        })),
      ];
      return all.filter((each) => words.every((word) => each.words.toLowerCase().includes(word)));
    },
    [commands, runs],
  );
  const pick = (id: string) => {
    if (id.startsWith('/v1/')) window.location.assign(id);
    else if (id.startsWith('/')) navigate(id);
    else if (id.startsWith('pane ')) {
      const pane = id.slice(5);
      const change = pane === 'timeline' ? { drawer: pane } : { pane, drawer: undefined };
      navigate(`${path}${placeAfter(window.location.search, change)}`);
    } else if (id === 'keys') onShow('keys');
    else chooseTheme(id as Theme);
  };
  if (shown === 'commands') {
    return (
      <PickDialog
        title="Commands"
        placeholder="Find a page, a run or a command"
        find={find}
        onPick={pick}
        onClose={() => onShow(undefined)}
      />
    );
  }
  return (
    <ModalDialog onClose={() => onShow(undefined)}>
      <Heading slot="title">Keyboard</Heading>
      <dl className="keys">
        {KEYS.map(([key, words]) => (
          <Fact key={key} name={<kbd>{key}</kbd>}>
            {words}
          </Fact>
        ))}
      </dl>
      <div className="actions">
        <Button id="keys-close" onPress={() => onShow(undefined)}>
          Close
        </Button>
      </div>
    </ModalDialog>
  );
}

/** Offered once something is typed. */
const DOCS: readonly Pick[] = [...DOCUMENTS.keys()].map((id) => ({
  id: documentAddress(id),
  words: id.replaceAll('-', ' '),
  note: 'Docs',
}));

function commandsOf(path: string, pages: ReturnType<typeof useLinkedPages>): readonly Pick[] {
  const kind = /^\/(runs|sandboxes)\/./.exec(path)?.[1] as keyof typeof PANES | undefined;
  return [
    ...(kind === undefined
      ? []
      : PANES[kind].map((id) => ({
          id: `pane ${id}`,
          words: `Show the ${PANE_NAMES[id].toLowerCase()}`,
          note: 'This page',
        }))),
    ...pages.map(({ href, name }) => ({ id: href, words: `Go to the ${name.toLowerCase()}` })),
    { id: '/v1/openapi', words: 'Open the API reference' },
    ...Object.entries(THEMES).map(([id, words]) => ({ id, words })),
    { id: 'keys', words: 'Show the keyboard keys', note: '?' },
  ];
}
