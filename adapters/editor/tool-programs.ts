import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ToolPrograms } from '#core/editor/execute-tool.ts';

/** The files beside this module. The build puts their contents into its bundles. */
export function readToolPrograms(): ToolPrograms {
  const read = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8');
  return {
    start: read('start-tool.sh'),
    end: read('end-tool.sh'),
    python: read('run_tool.py'),
    node: read('run-tool.cjs'),
  };
}
