import type { Launcher } from './launch.ts';

/** No isolation at all: the command runs as the host does. */
export const launchPlain: Launcher = ({ sources, command }) => ({
  argv: [...command],
  dialer: { node: sources.node, runtime: sources.runtime },
});
