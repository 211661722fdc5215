import type { McpTool } from './mcp-tool.ts';
import { doctorTool } from './tools/doctor.ts';
import { checkPageTool, lookAtPageTool } from './tools/look-at-page.ts';
import { listFilesTool } from './tools/list-files.ts';
import { listPreviewsTool } from './tools/list-previews.ts';
import { readFileTool } from './tools/read-file.ts';
import { runCommandTool } from './tools/run-command.ts';
import { startPreviewTool } from './tools/start-preview.ts';
import { listProcessesTool, serverLogsTool, startServerTool } from './tools/servers.ts';
import { stopPreviewTool } from './tools/stop-preview.ts';
import { writeFileTool } from './tools/write-file.ts';

/** Every tool, in the order in which clients show them. A new tool is its file and its line here. */
export const TOOLS: readonly McpTool[] = [
  startPreviewTool,
  stopPreviewTool,
  listPreviewsTool,
  doctorTool,
  checkPageTool,
  lookAtPageTool,
  runCommandTool,
  startServerTool,
  serverLogsTool,
  listProcessesTool,
  readFileTool,
  writeFileTool,
  listFilesTool,
];
