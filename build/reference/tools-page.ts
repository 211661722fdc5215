import { z } from 'zod';
import type { McpTool } from '#handlers/mcp/mcp-tool.ts';
import { TOOLS } from '#handlers/mcp/serve-mcp.ts';
import { code, pageOf, tableOf } from './markdown.ts';

/** Every tool of the MCP server. */
export function toolsPage(): string {
  return pageOf(
    '# Tools for agents (MCP)',
    'The tools of `POST /mcp` and `npm run mcp`. [Agents](../guides/agents.md) says how to connect.',
    ...TOOLS.flatMap(toolSection),
  );
}

function toolSection({ name, description, people, input }: McpTool): string[] {
  const { properties = {}, required = [] } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  const rows = Object.entries(properties).map(([field, schema]) => [
    `${code(field)}${required.includes(field) ? '' : '?'}`,
    typeof schema === 'object' ? (schema.description ?? '') : '',
  ]);
  return [
    `## ${name}`,
    `${description}${people === true ? ' Not for agents.' : ''}`,
    rows.length === 0 ? '' : tableOf(['argument', 'meaning'], rows),
  ];
}
