import { type ComponentType, type ReactNode, Suspense, use } from 'react';
import { checkConnection, whenConnected } from '../live/connection.ts';
import { Loading } from './elements.tsx';

/** A component that is loaded when it is shown first. */
export function lazyPart<P extends object>(
  load: () => Promise<{ readonly default: ComponentType<P> }>,
  fallback: ReactNode = <Loading />,
): ComponentType<P> {
  let loaded: ReturnType<typeof load> | undefined;
  function Part(props: P) {
    const { default: Loaded } = use((loaded ??= loadPart(load)));
    return <Loaded {...props} />;
  }
  return (props) => (
    <Suspense fallback={fallback}>
      <Part {...props} />
    </Suspense>
  );
}

/**
 * Loads a part of the page. One that fails with the connection is loaded once that is back.
 * Otherwise it is of an old build, which a new one has replaced: reloading the page loads that. At
 * most once: a part missing from a freshly loaded page would be missing again; then this rejects.
 */
async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (!(await checkConnection())) {
      await new Promise<void>((resolve) => void whenConnected(resolve));
      // Vite does not load a style sheet again while its element is there.
      const [, style] = /CSS for (\S+)/.exec(String(error)) ?? [];
      if (style !== undefined) document.querySelector(`link[href=${JSON.stringify(style)}]`)?.remove();
      return loadPart(load);
    }
    const [entry] = performance.getEntriesByType('navigation');
    if (entry instanceof PerformanceNavigationTiming && entry.type === 'reload') throw error;
    window.location.reload();
    return new Promise<never>(() => undefined);
  }
}
