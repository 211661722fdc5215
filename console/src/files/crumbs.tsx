import type { Ref } from 'react';
import { Button } from '../parts/button.tsx';
import { shownName } from './file-names.ts';

export interface CrumbsProps {
  readonly ref: Ref<HTMLElement>;
  readonly folder: string;
  /** The topmost folder that can be opened. */
  readonly root: string;
  readonly onFolder: (path: string) => void;
}

/** The folder and its parents. */
export function Crumbs({ ref, folder, root, onFolder }: CrumbsProps) {
  const below = folder === root ? [] : folder.slice(root.length + 1).split('/');
  const steps = [
    { name: root.slice(1), path: root },
    ...below.map((name, index) => ({ name, path: `${root}/${below.slice(0, index + 1).join('/')}` })),
  ];
  return (
    <nav className="crumbs" aria-label="Folder" ref={ref} tabIndex={-1}>
      <ol>
        {steps.map(({ name, path }, index) => (
          <li key={path}>
            {index === steps.length - 1 ? (
              <bdi aria-current="location">{shownName(name)}</bdi>
            ) : (
              <Button variant="plain" onPress={() => onFolder(path)}>
                <bdi>{shownName(name)}</bdi>
              </Button>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}
