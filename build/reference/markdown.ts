/** Parts of generated pages. */

/** A table; a cell may contain any text. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cellOf).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The paragraphs of a page. */
export function pageOf(...paragraphs: readonly string[]): string {
  return `${paragraphs.filter((each) => each !== '').join('\n\n')}\n`;
}

export function code(text: string): string {
  return `\`${text}\``;
}

export function textBlock(text: string): string {
  return `\`\`\`text\n${text.trimEnd()}\n\`\`\``;
}

function cellOf(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', String.raw`\|`);
}
