import { decideApprovalRoute } from './approvals/decide-approval.ts';
import { deletePolicyRoute } from './approvals/delete-policy.ts';
import { followApprovalsRoute } from './approvals/follow-approvals.ts';
import { listApprovalsRoute } from './approvals/list-approvals.ts';
import { listPoliciesRoute } from './approvals/list-policies.ts';
import {
  consoleAssetRoute,
  consoleRunRoute,
  consoleSandboxesRoute,
  consoleSandboxRoute,
  consoleToolRoute,
  consoleToolsRoute,
  homeRoute,
} from './console/console-page.ts';
import { delegateSandboxRoute } from './delegations/delegate-sandbox.ts';
import { listDelegationsRoute } from './delegations/list-delegations.ts';
import { renewDelegationRoute } from './delegations/renew-delegation.ts';
import { revokeDelegationRoute } from './delegations/revoke-delegation.ts';
import { rotateTokenRoute } from './delegations/rotate-token.ts';
import { validateSandboxRoute } from './delegations/validate-sandbox.ts';
import { deleteArchiveRoute } from './archives/delete-archive.ts';
import { listArchivesRoute } from './archives/list-archives.ts';
import { openapiJsonRoute } from './docs/openapi-json.ts';
import { openapiAssetRoute, openapiHtmlRoute, openapiPageRoute } from './docs/openapi-page.ts';
import { deleteImageRoute } from './images/delete-image.ts';
import { listImagesRoute } from './images/list-images.ts';
import { putImageRoute } from './images/put-image.ts';
import { createToolRoute } from './editor/create-tool.ts';
import { releaseDraftLockRoute, renewDraftLockRoute, takeDraftLockRoute } from './editor/draft-lock.ts';
import { deleteToolRoute, renameToolRoute } from './editor/change-tool.ts';
import { getToolRoute } from './editor/get-tool.ts';
import { listToolsRoute } from './editor/list-tools.ts';
import { runSandboxRoute } from './editor/run-sandbox.ts';
import { startActionRoute } from './editor/start-action.ts';
import { getToolDraftRoute, saveToolDraftRoute } from './editor/tool-draft.ts';
import { getToolRunRoute, listToolRunsRoute } from './editor/tool-runs.ts';
import { createToolVersionRoute, listToolVersionsRoute } from './editor/tool-versions.ts';
import { callMcpRoute } from './mcp/call-mcp.ts';
import { healthRoute } from './ops/health.ts';
import { metricsRoute } from './ops/metrics.ts';
import { getPoolStatsRoute } from './pool/get-pool-stats.ts';
import { primePoolRoute } from './pool/prime-pool.ts';
import { shutdownPrewarmedRoute } from './pool/shutdown-prewarmed.ts';
import { diagnoseSandboxRoute } from './previews/diagnose-sandbox.ts';
import { keepPreviewAliveRoute } from './previews/keep-preview-alive.ts';
import { checkPageRoute, lookAtPageRoute } from './previews/look-at-page.ts';
import { listPortForwardsRoute } from './previews/list-port-forwards.ts';
import { startAgentPreviewRoute } from './previews/start-agent-preview.ts';
import { startPortForwardRoute } from './previews/start-port-forward.ts';
import { stopPortForwardRoute } from './previews/stop-port-forward.ts';
import { getQuotaRoute } from './quota/get-quota.ts';
import type { Route } from './route.ts';
import { listPortsRoute, waitForPortRoute } from './processes/ports.ts';
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
} from './processes/processes.ts';
import {
  deleteServerRoute,
  followServerRoute,
  getServerRoute,
  listServersRoute,
  putServerRoute,
  restartServerRoute,
  startServerRoute,
  stopServerRoute,
} from './processes/servers.ts';
import { deleteSkillRoute } from './skills/delete-skill.ts';
import { getSkillRoute } from './skills/get-skill.ts';
import { oidcCallbackRoute, startOidcRoute } from './session/oidc-sign-in.ts';
import { getSessionRoute, getSignInRoute, signInRoute, signOutRoute } from './session/session.ts';
import { listSkillsRoute } from './skills/list-skills.ts';
import { putSkillRoute } from './skills/put-skill.ts';
import { completeRunRoute } from './runs/complete-run.ts';
import { createRunRoute } from './runs/create-run.ts';
import { followTimelineRoute } from './runs/follow-timeline.ts';
import { getRunRoute } from './runs/get-run.ts';
import { listRunsRoute } from './runs/list-runs.ts';
import { readTimelineRoute } from './runs/read-timeline.ts';
import { createSandboxRoute } from './sandboxes/create-sandbox.ts';
import { createSessionRoute } from './sandboxes/create-session.ts';
import { createTunnelRoute } from './sandboxes/create-tunnel.ts';
import { deleteSandboxRoute } from './sandboxes/delete-sandbox.ts';
import { deleteSandboxesRoute } from './sandboxes/delete-sandboxes.ts';
import { deleteSessionRoute } from './sandboxes/delete-session.ts';
import { deleteTunnelRoute } from './sandboxes/delete-tunnel.ts';
import { downloadFolderRoute } from './sandboxes/download-folder.ts';
import { execCommandRoute } from './sandboxes/exec-command.ts';
import { followSandboxRoute } from './sandboxes/follow-sandbox.ts';
import { getSandboxRoute } from './sandboxes/get-sandbox.ts';
import { heartbeatRoute } from './sandboxes/heartbeat.ts';
import { hydrateWorkspaceRoute } from './sandboxes/hydrate-workspace.ts';
import { isSandboxRunningRoute } from './sandboxes/is-sandbox-running.ts';
import { deleteFileRoute } from './sandboxes/delete-file.ts';
import { moveFileRoute } from './sandboxes/move-file.ts';
import { watchFilesRoute } from './sandboxes/watch-files.ts';
import { listFilesRoute } from './sandboxes/list-files.ts';
import { listSandboxesRoute } from './sandboxes/list-sandboxes.ts';
import { ptyTerminalRoute } from './sandboxes/pty-terminal.ts';
import { mountBucketRoute } from './sandboxes/mount-bucket.ts';
import { persistWorkspaceRoute } from './sandboxes/persist-workspace.ts';
import { readFileRoute } from './sandboxes/read-file.ts';
import { uploadFilesRoute } from './sandboxes/upload-files.ts';
import { unmountBucketRoute } from './sandboxes/unmount-bucket.ts';
import { resumeSandboxRoute } from './sandboxes/resume-sandbox.ts';
import { changeSandboxRoute, getSandboxNetworkRoute } from './sandboxes/sandbox-network.ts';
import { stopSandboxRoute } from './sandboxes/stop-sandbox.ts';
import { writeFileRoute } from './sandboxes/write-file.ts';

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
  lookAtPageRoute,
  checkPageRoute,
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
