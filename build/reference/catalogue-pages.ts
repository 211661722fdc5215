import { z } from 'zod';
import { ERROR_CATALOGUE } from '#base/errors.ts';
import type { McpTool } from '#handlers/mcp/mcp-tool.ts';
import { TOOLS } from '#handlers/mcp/serve-mcp.ts';
import { settingTexts } from '#protocol/settings/setting-texts.ts';
import { COMMANDS } from '../../client/cli/commands.ts';
import { helpOf, overview } from '../../client/cli/run-command.ts';
import { COMMANDS as INSIDE, commandHelp, generalHelp, isCommand } from '../../guest/command/help.ts';
import { code, pageOf, tableOf, textBlock } from './markdown.ts';

/** Every setting of `npm start` and of the functions. */
export function settingsPage(): string {
  const rows = settingTexts().map(({ name, default: fallback, meaning }) => [
    code(name),
    fallback === undefined ? '' : code(fallback),
    meaning,
  ]);
  return pageOf(
    '# Settings',
    'Environment variables of `npm start`. `npm run config` prints the same list. In a cluster, set them under `environment` of the [stack](deploy-settings.md).',
    tableOf(['setting', 'default', 'meaning'], rows),
  );
}

/** Every error code. */
export function errorsPage(): string {
  const rows = Object.entries(ERROR_CATALOGUE).map(([name, entry]) => [
    code(name),
    String(entry.status),
    entry.retryable ? 'yes' : '',
    'remedy' in entry ? entry.remedy : '',
  ]);
  return pageOf(
    '# Errors',
    'An error of the API is JSON: `error` (what is wrong, the value, and what to do), `code`, `retryable`, and often `remedy` (what to do next). A 5xx also has `request_id`, under which the log has the cause. Wait `Retry-After` seconds, if the answer has it, before you repeat a call.',
    tableOf(['code', 'status', 'same call may succeed later', 'general remedy'], rows),
  );
}

/** The help of every command, on your machine and in sandboxes. */
export function commandPage(): string {
  return pageOf(
    '# The command line',
    '`porthole` on your machine is part of [the client](../../client/README.md). Every sandbox has a smaller command of the same name ([below](#in-a-sandbox)).',
    textBlock(overview(COMMANDS)),
    ...COMMANDS.flatMap((command) => [`## porthole ${command.name}`, textBlock(helpOf(command))]),
    '## In a sandbox',
    textBlock(generalHelp()),
    ...Object.keys(INSIDE)
      .filter(isCommand)
      .flatMap((name) => [`### ${name}`, textBlock(commandHelp(name))]),
  );
}

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
