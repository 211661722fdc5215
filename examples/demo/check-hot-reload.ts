import type { Steps } from './steps.ts';
import { visitPreview } from './visit-preview.ts';

export interface HotReloadCheck {
  readonly steps: Steps;
  /** URL of the preview. */
  readonly url: string;
  readonly apiUrl: string;
  /** Writes a file of the project. */
  readonly write: (path: string, text: string) => Promise<void>;
}

const EDITED = 'Edited while you watched';

/**
 * Checks what a browser needs: the page, the hot-reload WebSocket, and the notice of an edit on it.
 */
export async function checkHotReload({ steps, url, apiUrl, write }: HotReloadCheck): Promise<void> {
  const visit = visitPreview(url, apiUrl);
  await steps.run(
    'The page is served through the preview',
    async () => {
      const { status, text } = await visit.page('/');
      // Vite responds with 403 to any Host but localhost, so this shows that the preview has
      // rewritten it.
      if (status !== 200) throw new Error(`The preview answered ${status}: ${text.slice(0, 300)}`);
      if (!text.includes('/@vite/client')) throw new Error(`This is not Vite's page: ${text.slice(0, 300)}`);
      await visit.page('/src/main.js');
      await visit.page('/src/heading.js');
    },
    () => 'The page is served through the preview: Vite takes it for a visit from localhost',
  );
  const socket = await steps.run(
    'The hot-reload WebSocket is accepted',
    () => visit.openHotReload(),
    () => 'The hot-reload WebSocket is accepted, and Vite says "connected"',
  );
  try {
    await steps.run(
      'An edited file is announced',
      async () => {
        const [paths] = await Promise.all([
          socket.nextUpdate(),
          write('src/heading.js', `export default '${EDITED}';\n`),
        ]);
        const heading = await visit.page('/src/heading.js');
        if (!heading.text.includes(EDITED)) throw new Error(`The edited file is not served: ${heading.text}`);
        return paths;
      },
      (paths) => `An edited file is announced over it (${paths.join(', ')}), and served`,
    );
  } finally {
    socket.close();
  }
}
