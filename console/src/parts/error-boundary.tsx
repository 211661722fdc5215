import { Component, type ReactNode } from 'react';
import { Button } from './elements.tsx';

interface ErrorBoundaryProps {
  /** A change renders the children again. */
  readonly at: string;
  readonly children: ReactNode;
}

interface ErrorBoundaryState {
  /** The message of the error. */
  readonly words?: string | undefined;
}

/**
 * Shows the error of a page that failed to render, and what to do. The rest of the console keeps
 * working.
 */
export class ErrorBoundary extends Component<ErrorBoundaryProps, ErrorBoundaryState> {
  override state: ErrorBoundaryState = {};

  static getDerivedStateFromError(error: unknown): ErrorBoundaryState {
    return { words: error instanceof Error ? error.message : String(error) };
  }

  override componentDidUpdate(before: ErrorBoundaryProps): void {
    if (before.at !== this.props.at && this.state.words !== undefined) this.setState({ words: undefined });
  }

  override render(): ReactNode {
    const { words } = this.state;
    if (words === undefined) return this.props.children;
    return (
      <div className="broken" role="alert">
        <h1>This page broke</h1>
        <p>
          Your sandboxes are not affected. Reload the page. If it fails again, report it to the administrator
          of this Porthole:
        </p>
        <pre>{words}</pre>
        <div className="actions">
          <Button variant="primary" onPress={() => window.location.reload()}>
            Load it again
          </Button>
          <a className="button" href="/">
            Go to the runs
          </a>
        </div>
      </div>
    );
  }
}
