import { parseSync } from '@swc/core';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A regular expression in the sources. */
export interface FoundPattern {
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

/** Patterns in the sources, and the files that compute one: no parser reads those. */
export interface FoundPatterns {
  readonly patterns: readonly FoundPattern[];
  readonly computed: readonly string[];
}

const SOURCES = ['**/*.ts', '**/*.tsx', '**/*.js'];

interface Template {
  readonly type: 'TemplateLiteral';
  readonly quasis: readonly { readonly raw: string; readonly cooked?: string }[];
}
type Argument =
  | Template
  | { readonly type: 'StringLiteral'; readonly value: string }
  | { readonly type: 'TaggedTemplateExpression'; readonly template: Template }
  | { readonly type: 'Identifier' };

/** The pattern in the text of a call; a word replaces each value in a template. */
function sourceIn(call: object): string | undefined {
  const [first] = 'arguments' in call ? (call.arguments as { readonly expression: Argument }[]) : [];
  const given = first?.expression;
  if (given?.type === 'StringLiteral') return given.value;
  if (given?.type === 'TemplateLiteral') return given.quasis.map(({ cooked = '' }) => cooked).join('word');
  if (given?.type !== 'TaggedTemplateExpression') return undefined;
  return given.template.quasis.map(({ raw }) => raw).join('word');
}

/** @param folders relative to `root` */
export function findPatterns(root: string, folders: readonly string[]): FoundPatterns {
  const patterns: FoundPattern[] = [];
  const computed = new Set<string>();
  const files = folders.flatMap((folder) =>
    SOURCES.flatMap((kind) =>
      globSync(join(folder, kind), { cwd: root, exclude: (path) => /node_modules|\bdist\b/.test(path) }),
    ),
  );
  for (const file of new Set(files)) {
    const text = readFileSync(join(root, file), 'utf8');
    const visit = (node: unknown): void => {
      if (Array.isArray(node)) node.forEach(visit);
      if (typeof node !== 'object' || node === null || Array.isArray(node)) return;
      if ('type' in node && node.type === 'RegExpLiteral') {
        const { pattern, flags } = node as unknown as { readonly pattern: string; readonly flags: string };
        patterns.push({ file, source: pattern, flags });
      }
      const called = 'callee' in node ? node.callee : undefined;
      if (typeof called === 'object' && called !== null && 'value' in called && called.value === 'RegExp') {
        const source = sourceIn(node);
        if (source === undefined) computed.add(file);
        else patterns.push({ file, source, flags: '' });
      }
      Object.values(node).forEach(visit);
    };
    visit(parseSync(text, { syntax: 'typescript', tsx: !file.endsWith('.ts'), decorators: true }).body);
  }
  return { patterns, computed: [...computed].toSorted() };
}
