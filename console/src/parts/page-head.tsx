import type { ReactNode } from 'react';
import { Link } from 'wouter';

interface PageHeadProps {
  /** The page of the list that it is in. */
  readonly parent: readonly [address: string, name: string];
  readonly title: string;
  /** What is known of it, in a row. */
  readonly facts: ReactNode;
  /** What can be done with it. */
  readonly children?: ReactNode;
}

/** The head of a page about one thing of a list. */
export function PageHead({ parent: [address, name], title, facts, children }: PageHeadProps) {
  return (
    <div className="page-head">
      <div>
        <p className="crumb">
          <Link href={address}>{name}</Link>
        </p>
        <h1 title={title}>
          <bdi>{title}</bdi>
        </h1>
        <p className="facts">{facts}</p>
      </div>
      {children}
    </div>
  );
}
