import type { Launcher } from './launch.ts';

/** No isolation at all: the command runs as the host does. */
export const launchPlain: Launcher = ({ command }) => ({ argv: [...command] });
