import { decideApprovalRoute } from './runs/approval-routes.ts';
import { deletePolicyRoute } from './runs/policy-routes.ts';
import { followApprovalsRoute } from './runs/approval-routes.ts';
import { listApprovalsRoute } from './runs/approval-routes.ts';
import { listPoliciesRoute } from './runs/policy-routes.ts';
import {
  consoleAssetRoute,
  consoleRunRoute,
  consoleSandboxesRoute,
  consoleSandboxRoute,
  consoleToolRoute,
  consoleToolsRoute,
  homeRoute,
} from './console/console-page.ts';
import { delegateSandboxRoute } from './auth/delegation-routes.ts';
import { listDelegationsRoute } from './auth/delegation-routes.ts';
import { renewDelegationRoute } from './auth/delegation-routes.ts';
import { revokeDelegationRoute } from './auth/delegation-routes.ts';
import { rotateTokenRoute } from './auth/delegation-routes.ts';
import { validateSandboxRoute } from './auth/validation-route.ts';
import { deleteArchiveRoute } from './sandboxes/archive-routes.ts';
import { listArchivesRoute } from './sandboxes/archive-routes.ts';
import { openapiJsonRoute } from './ops/openapi-routes.ts';
import { openapiAssetRoute, openapiHtmlRoute, openapiPageRoute } from './ops/openapi-routes.ts';
import { deleteImageRoute } from './sandboxes/image-routes.ts';
import { listImagesRoute } from './sandboxes/image-routes.ts';
import { putImageRoute } from './sandboxes/image-routes.ts';
import { createToolRoute } from './editor/tool-routes.ts';
import {
  releaseDraftLockRoute,
  renewDraftLockRoute,
  takeDraftLockRoute,
} from './editor/tool-draft-routes.ts';
import { deleteToolRoute, renameToolRoute } from './editor/tool-routes.ts';
import { getToolRoute } from './editor/tool-routes.ts';
import { listToolsRoute } from './editor/tool-routes.ts';
import { runSandboxRoute } from './editor/tool-run-routes.ts';
import { startActionRoute } from './editor/tool-run-routes.ts';
import { getToolDraftRoute, saveToolDraftRoute } from './editor/tool-draft-routes.ts';
import { getToolRunRoute, listToolRunsRoute } from './editor/tool-run-routes.ts';
import { createToolVersionRoute, listToolVersionsRoute } from './editor/tool-version-routes.ts';
import { callMcpRoute } from './mcp/call-mcp.ts';
import { healthRoute } from './ops/ops-routes.ts';
import { metricsRoute } from './ops/ops-routes.ts';
import { getPoolStatsRoute } from './sandboxes/warm-pool-routes.ts';
import { primePoolRoute } from './sandboxes/warm-pool-routes.ts';
import { shutdownPrewarmedRoute } from './sandboxes/warm-pool-routes.ts';
import { diagnoseSandboxRoute } from './previews/diagnosis-route.ts';
import { keepPreviewAliveRoute } from './previews/port-forward-routes.ts';
import { listPortForwardsRoute } from './previews/port-forward-routes.ts';
import { startAgentPreviewRoute } from './previews/agent-preview-route.ts';
import { startPortForwardRoute } from './previews/port-forward-routes.ts';
import { stopPortForwardRoute } from './previews/port-forward-routes.ts';
import { getQuotaRoute } from './sandboxes/quota-route.ts';
import type { Route } from './route.ts';
import { listPortsRoute, waitForPortRoute } from './processes/port-routes.ts';
import {
  createProcessRoute,
  deleteProcessRoute,
  followProcessRoute,
  getProcessRoute,
  listProcessesRoute,
  resizeProcessRoute,
  sendProcessInputRoute,
  signalProcessRoute,
  waitForProcessRoute,
} from './processes/process-routes.ts';
import {
  deleteServerRoute,
  followServerRoute,
  getServerRoute,
  listServersRoute,
  putServerRoute,
  restartServerRoute,
  startServerRoute,
  stopServerRoute,
} from './processes/server-routes.ts';
import { deleteSkillRoute } from './sandboxes/skill-routes.ts';
import { getSkillRoute } from './sandboxes/skill-routes.ts';
import { oidcCallbackRoute, startOidcRoute } from './auth/oidc-routes.ts';
import { getSessionRoute, getSignInRoute, signInRoute, signOutRoute } from './auth/sign-in-routes.ts';
import { listSkillsRoute } from './sandboxes/skill-routes.ts';
import { putSkillRoute } from './sandboxes/skill-routes.ts';
import { completeRunRoute } from './runs/run-routes.ts';
import { createRunRoute } from './runs/run-routes.ts';
import { followTimelineRoute } from './runs/timeline-routes.ts';
import { getRunRoute } from './runs/run-routes.ts';
import { listRunsRoute } from './runs/run-routes.ts';
import { readTimelineRoute } from './runs/timeline-routes.ts';
import { createSandboxRoute } from './sandboxes/sandbox-routes.ts';
import { createSessionRoute } from './processes/exec-session-routes.ts';
import { createTunnelRoute } from './previews/tunnel-routes.ts';
import { deleteSandboxRoute } from './sandboxes/sandbox-state-routes.ts';
import { deleteSandboxesRoute } from './sandboxes/sandbox-list-routes.ts';
import { deleteSessionRoute } from './processes/exec-session-routes.ts';
import { deleteTunnelRoute } from './previews/tunnel-routes.ts';
import { downloadFolderRoute } from './files/download-route.ts';
import { execCommandRoute } from './processes/exec-route.ts';
import { followSandboxRoute } from './sandboxes/sandbox-events-route.ts';
import { getSandboxRoute } from './sandboxes/sandbox-routes.ts';
import { heartbeatRoute } from './sandboxes/sandbox-state-routes.ts';
import { hydrateWorkspaceRoute } from './files/workspace-routes.ts';
import { isSandboxRunningRoute } from './sandboxes/sandbox-routes.ts';
import { deleteFileRoute } from './files/file-routes.ts';
import { moveFileRoute } from './files/file-routes.ts';
import { watchFilesRoute } from './files/folder-routes.ts';
import { listFilesRoute } from './files/folder-routes.ts';
import { listSandboxesRoute } from './sandboxes/sandbox-list-routes.ts';
import { ptyTerminalRoute } from './processes/terminal-route.ts';
import { mountBucketRoute } from './sandboxes/mount-routes.ts';
import { persistWorkspaceRoute } from './files/workspace-routes.ts';
import { readFileRoute } from './files/file-routes.ts';
import { uploadFilesRoute } from './files/upload-route.ts';
import { unmountBucketRoute } from './sandboxes/mount-routes.ts';
import { resumeSandboxRoute } from './sandboxes/sandbox-state-routes.ts';
import { changeSandboxRoute, getSandboxNetworkRoute } from './sandboxes/sandbox-network.ts';
import { stopSandboxRoute } from './sandboxes/sandbox-state-routes.ts';
import { writeFileRoute } from './files/file-routes.ts';

/** Every route, in the order of the documentation. A new route is its file and its line here. */
export const ROUTES: readonly Route[] = [
  createRunRoute,
  listRunsRoute,
  getRunRoute,
  completeRunRoute,
  readTimelineRoute,
  followTimelineRoute,
  startPortForwardRoute,
  startAgentPreviewRoute,
  listPortForwardsRoute,
  keepPreviewAliveRoute,
  stopPortForwardRoute,
  diagnoseSandboxRoute,
  decideApprovalRoute,
  listApprovalsRoute,
  followApprovalsRoute,
  listPoliciesRoute,
  deletePolicyRoute,
  callMcpRoute,
  createSandboxRoute,
  listSandboxesRoute,
  getSandboxRoute,
  changeSandboxRoute,
  getSandboxNetworkRoute,
  isSandboxRunningRoute,
  execCommandRoute,
  ptyTerminalRoute,
  readFileRoute,
  writeFileRoute,
  deleteFileRoute,
  moveFileRoute,
  watchFilesRoute,
  listFilesRoute,
  uploadFilesRoute,
  downloadFolderRoute,
  persistWorkspaceRoute,
  hydrateWorkspaceRoute,
  mountBucketRoute,
  unmountBucketRoute,
  createSessionRoute,
  deleteSessionRoute,
  createTunnelRoute,
  deleteTunnelRoute,
  createProcessRoute,
  listProcessesRoute,
  getProcessRoute,
  deleteProcessRoute,
  followProcessRoute,
  sendProcessInputRoute,
  signalProcessRoute,
  resizeProcessRoute,
  waitForProcessRoute,
  putServerRoute,
  listServersRoute,
  getServerRoute,
  deleteServerRoute,
  startServerRoute,
  stopServerRoute,
  restartServerRoute,
  followServerRoute,
  listPortsRoute,
  waitForPortRoute,
  stopSandboxRoute,
  resumeSandboxRoute,
  heartbeatRoute,
  followSandboxRoute,
  deleteSandboxRoute,
  deleteSandboxesRoute,
  listImagesRoute,
  putImageRoute,
  deleteImageRoute,
  listSkillsRoute,
  getSkillRoute,
  putSkillRoute,
  deleteSkillRoute,
  getQuotaRoute,
  delegateSandboxRoute,
  listDelegationsRoute,
  renewDelegationRoute,
  revokeDelegationRoute,
  rotateTokenRoute,
  validateSandboxRoute,
  createToolRoute,
  listToolsRoute,
  getToolRoute,
  renameToolRoute,
  deleteToolRoute,
  listToolVersionsRoute,
  createToolVersionRoute,
  getToolDraftRoute,
  saveToolDraftRoute,
  takeDraftLockRoute,
  renewDraftLockRoute,
  releaseDraftLockRoute,
  runSandboxRoute,
  startActionRoute,
  getToolRunRoute,
  listToolRunsRoute,
  listArchivesRoute,
  deleteArchiveRoute,
  getPoolStatsRoute,
  primePoolRoute,
  shutdownPrewarmedRoute,
  getSignInRoute,
  getSessionRoute,
  signInRoute,
  signOutRoute,
  startOidcRoute,
  oidcCallbackRoute,
  healthRoute,
  metricsRoute,
  homeRoute,
  consoleRunRoute,
  consoleSandboxesRoute,
  consoleSandboxRoute,
  consoleToolsRoute,
  consoleToolRoute,
  consoleAssetRoute,
  openapiJsonRoute,
  openapiPageRoute,
  openapiHtmlRoute,
  openapiAssetRoute,
];
