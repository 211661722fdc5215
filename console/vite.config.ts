import { join } from 'node:path';
import { defineConfig } from 'vite';

/**
 * The console as static files. Names carry a hash of the content, so they may be kept for ever;
 * nothing is inlined, which the page's policy would not allow.
 */
export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  publicDir: false,
  logLevel: 'warn',
  build: {
    outDir: join(import.meta.dirname, '../dist/console'),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    chunkSizeWarningLimit: 1_000,
    reportCompressedSize: false,
    rolldownOptions: {
      // Packages mark their parts for servers with "use client"; here everything is in the browser.
      onLog(level, log, report) {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') report(level, log);
      },
    },
  },
});
