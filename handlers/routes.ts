import { decideApprovalRoute, followApprovalsRoute, listApprovalsRoute } from './runs/approval-routes.ts';
import { deletePolicyRoute, listPoliciesRoute } from './runs/policy-routes.ts';
import { consoleAssetRoute, consolePageRoutes } from './console/console-page.ts';
import {
  delegateSandboxRoute,
  listDelegationsRoute,
  renewDelegationRoute,
  revokeDelegationRoute,
  rotateTokenRoute,
} from './auth/delegation-routes.ts';
import { validateSandboxRoute } from './auth/validation-route.ts';
import { deleteArchiveRoute, listArchivesRoute } from './sandboxes/archive-routes.ts';
import {
  openapiJsonRoute,
  openapiAssetRoute,
  openapiHtmlRoute,
  openapiPageRoute,
} from './ops/openapi-routes.ts';
import { deleteImageRoute, listImagesRoute, putImageRoute } from './sandboxes/image-routes.ts';
import {
  createToolRoute,
  deleteToolRoute,
  renameToolRoute,
  getToolRoute,
  listToolsRoute,
} from './editor/tool-routes.ts';
import {
  releaseDraftLockRoute,
  renewDraftLockRoute,
  takeDraftLockRoute,
  getToolDraftRoute,
  saveToolDraftRoute,
} from './editor/tool-draft-routes.ts';
import {
  runSandboxRoute,
  startActionRoute,
  getToolRunRoute,
  listToolRunsRoute,
} from './editor/tool-run-routes.ts';
import { createToolVersionRoute, listToolVersionsRoute } from './editor/tool-version-routes.ts';
import { callMcpRoute } from './mcp/call-mcp.ts';
import { healthRoute, metricsRoute } from './ops/ops-routes.ts';
import { getPoolStatsRoute, primePoolRoute, shutdownPrewarmedRoute } from './sandboxes/warm-pool-routes.ts';
import { diagnoseSandboxRoute } from './previews/diagnosis-route.ts';
import {
  keepPreviewAliveRoute,
  listPortForwardsRoute,
  startPortForwardRoute,
  stopPortForwardRoute,
} from './previews/port-forward-routes.ts';
import { getLookPictureRoute, listLooksRoute } from './previews/kept-look-routes.ts';
import { checkPageRoute, lookAtPageRoute } from './previews/page-routes.ts';
import { startAgentPreviewRoute } from './previews/agent-preview-route.ts';
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
import { deleteSkillRoute, getSkillRoute, listSkillsRoute, putSkillRoute } from './sandboxes/skill-routes.ts';
import { oidcCallbackRoute, startOidcRoute } from './auth/oidc-routes.ts';
import { mcpResourceMetadataRoute, resourceMetadataRoute } from './auth/oauth-metadata-routes.ts';
import { getSessionRoute, getSignInRoute, signInRoute, signOutRoute } from './auth/sign-in-routes.ts';
import {
  findElementRoute,
  getMessageRoute,
  listInboxRoute,
  markReadRoute,
  postCommentRoute,
  replyRoute,
} from './runs/inbox-routes.ts';
import {
  changeRunRoute,
  completeRunRoute,
  createRunRoute,
  getRunRoute,
  listRunsRoute,
  rotateAgentTokenRoute,
} from './runs/run-routes.ts';
import {
  followActivityRoute,
  followTimelineRoute,
  readActivityRoute,
  readEventDetailsRoute,
  readTimelineRoute,
} from './runs/timeline-routes.ts';
import { addViewerRoute, listViewersRoute } from './runs/viewer-routes.ts';
import { createSandboxRoute, getSandboxRoute, isSandboxRunningRoute } from './sandboxes/sandbox-routes.ts';
import { createSessionRoute, deleteSessionRoute } from './processes/exec-session-routes.ts';
import { createTunnelRoute, deleteTunnelRoute } from './previews/tunnel-routes.ts';
import {
  deleteSandboxRoute,
  heartbeatRoute,
  resumeSandboxRoute,
  stopSandboxRoute,
} from './sandboxes/sandbox-state-routes.ts';
import { deleteSandboxesRoute, listSandboxesRoute } from './sandboxes/sandbox-list-routes.ts';
import { downloadFolderRoute } from './files/download-route.ts';
import { execCommandRoute } from './processes/exec-route.ts';
import { followSandboxRoute } from './sandboxes/sandbox-events-route.ts';
import { hydrateWorkspaceRoute, persistWorkspaceRoute } from './files/workspace-routes.ts';
import { deleteFileRoute, moveFileRoute, readFileRoute, writeFileRoute } from './files/file-routes.ts';
import { listFilesRoute, makeFolderRoute, searchFilesRoute, watchFilesRoute } from './files/folder-routes.ts';
import { ptyTerminalRoute } from './processes/terminal-route.ts';
import { mountBucketRoute, unmountBucketRoute } from './sandboxes/mount-routes.ts';
import { uploadFilesRoute } from './files/upload-route.ts';
import { changeSandboxRoute, getSandboxNetworkRoute } from './sandboxes/sandbox-network.ts';

/** All routes, in the order of the documentation. To add a route, add its file and a line here. */
export const ROUTES: readonly Route[] = [
  createRunRoute,
  listRunsRoute,
  getRunRoute,
  changeRunRoute,
  completeRunRoute,
  rotateAgentTokenRoute,
  listViewersRoute,
  addViewerRoute,
  readTimelineRoute,
  followTimelineRoute,
  readActivityRoute,
  readEventDetailsRoute,
  followActivityRoute,
  startPortForwardRoute,
  startAgentPreviewRoute,
  listPortForwardsRoute,
  keepPreviewAliveRoute,
  stopPortForwardRoute,
  diagnoseSandboxRoute,
  lookAtPageRoute,
  checkPageRoute,
  listLooksRoute,
  getLookPictureRoute,
  findElementRoute,
  postCommentRoute,
  listInboxRoute,
  getMessageRoute,
  replyRoute,
  markReadRoute,
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
  searchFilesRoute,
  makeFolderRoute,
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
  resourceMetadataRoute,
  mcpResourceMetadataRoute,
  healthRoute,
  metricsRoute,
  ...consolePageRoutes,
  consoleAssetRoute,
  openapiJsonRoute,
  openapiPageRoute,
  openapiHtmlRoute,
  openapiAssetRoute,
];
