import type { OptionalFeature } from '#protocol/settings/optional-features.ts';
import { auditRoutes } from './audit/audit-routes.ts';
import { apiKeyRoutes } from './auth/api-key-routes.ts';
import { delegationRoutes } from './auth/delegation-routes.ts';
import { oauthMetadataRoutes } from './auth/oauth-metadata-routes.ts';
import { oidcRoutes } from './auth/oidc-routes.ts';
import { signInRoutes } from './auth/sign-in-routes.ts';
import { validateSandboxRoute } from './auth/validation-route.ts';
import { bridgeDocumentRoute } from './bridge/bridge-document-route.ts';
import { bridgeProcessRoutes } from './bridge/bridge-process-routes.ts';
import { bridgeTerminalRoutes } from './bridge/bridge-terminal-routes.ts';
import { mirroredRoutes } from './bridge/mirrored-routes.ts';
import { consoleAssetRoute, consolePageRoutes, editorPageRoutes } from './console/console-page.ts';
import { e2bCodeRoutes } from './e2b/code-routes.ts';
import { e2bControlRoutes } from './e2b/control-routes.ts';
import { envdRoutes } from './e2b/envd-routes.ts';
import { e2bSnapshotRoutes } from './e2b/snapshot-routes.ts';
import { e2bTemplateRoutes } from './e2b/template-routes.ts';
import { e2bUsageRoutes } from './e2b/usage-routes.ts';
import { toolDraftRoutes } from './editor/tool-draft-routes.ts';
import { toolRoutes } from './editor/tool-routes.ts';
import { toolRunRoutes } from './editor/tool-run-routes.ts';
import { toolVersionRoutes } from './editor/tool-version-routes.ts';
import { downloadFolderRoute } from './files/download-route.ts';
import { fileRoutes } from './files/file-routes.ts';
import { folderRoutes } from './files/folder-routes.ts';
import { uploadFilesRoute } from './files/upload-route.ts';
import { workspaceRoutes } from './files/workspace-routes.ts';
import { callMcpRoute } from './mcp/call-mcp.ts';
import { openapiRoutes } from './ops/openapi-routes.ts';
import { opsRoutes } from './ops/ops-routes.ts';
import { comparePagesRoute } from './pages/compare-pages-route.ts';
import { findElementRoute } from './pages/element-route.ts';
import { keptLookRoutes } from './pages/kept-look-routes.ts';
import { pageRoutes } from './pages/page-routes.ts';
import { accessRoutes } from './previews/access-routes.ts';
import { shareAgentPreviewRoute } from './previews/share-route.ts';
import { openPageRoute } from './previews/open-page.ts';
import { blockRoutes } from './previews/block-routes.ts';
import { diagnoseRoute } from './previews/diagnosis-route.ts';
import { portForwardRoutes } from './previews/preview-routes.ts';
import { tunnelRoutes } from './previews/tunnel-routes.ts';
import { viewerKeysRoute } from './previews/viewer-keys-route.ts';
import { attachProcessRoute } from './processes/attach-route.ts';
import { codeRoutes } from './processes/code-routes.ts';
import { execCommandRoute } from './processes/exec-route.ts';
import { execSessionRoutes } from './processes/exec-session-routes.ts';
import { portRoutes } from './processes/port-routes.ts';
import { processRoutes } from './processes/process-routes.ts';
import { serverRoutes } from './processes/server-routes.ts';
import { ptyTerminalRoute } from './processes/terminal-route.ts';
import type { Route } from './route.ts';
import { approvalRoutes } from './approvals/approval-routes.ts';
import { inboxRoutes } from './runs/inbox-routes.ts';
import { policyRoutes } from './approvals/policy-routes.ts';
import { runRoutes } from './runs/run-routes.ts';
import { timelineRoutes } from './runs/timeline-routes.ts';
import { viewerRoutes } from './runs/viewer-routes.ts';
import { archiveRoutes } from './sandboxes/archive-routes.ts';
import { checkpointRoutes } from './sandboxes/checkpoint-routes.ts';
import { compareRoutes } from './sandboxes/compare-route.ts';
import { forkRoutes } from './sandboxes/fork-routes.ts';
import { imageRoutes } from './sandboxes/image-routes.ts';
import { mountRoutes } from './sandboxes/mount-routes.ts';
import { getQuotaRoute } from './sandboxes/quota-route.ts';
import { followSandboxRoute } from './sandboxes/sandbox-events-route.ts';
import { sandboxListRoutes } from './sandboxes/sandbox-list-routes.ts';
import { sandboxNetworkRoutes } from './sandboxes/sandbox-network.ts';
import { sandboxRoutes } from './sandboxes/sandbox-routes.ts';
import { sandboxStateRoutes } from './sandboxes/sandbox-state-routes.ts';
import { skillRoutes } from './sandboxes/skill-routes.ts';
import { warmPoolRoutes } from './sandboxes/warm-pool-routes.ts';
import { usageRoute } from './usage/usage-routes.ts';
import { webhookRoutes } from './webhooks/webhook-routes.ts';

/** A part of Porthole. Its tools of MCP and its pages of the console name it as their `feature`. */
interface Feature {
  /** In the order of the documentation. */
  readonly routes: readonly Route[];
  /** The other features that it uses. */
  readonly needs: readonly FeatureName[];
}

type FeatureName = OptionalFeature | 'runs' | 'previews' | 'sandboxes' | 'auth' | 'ops' | 'console' | 'docs';

/** All of Porthole. To add a route, add it to the list of its file. */
export const FEATURES: Readonly<Record<FeatureName, Feature>> = {
  runs: {
    needs: ['sandboxes'],
    routes: [
      ...runRoutes,
      ...viewerRoutes,
      ...timelineRoutes,
      ...inboxRoutes,
      ...approvalRoutes,
      ...policyRoutes,
    ],
  },
  previews: {
    needs: ['runs'],
    routes: [
      ...portForwardRoutes,
      ...accessRoutes,
      shareAgentPreviewRoute,
      ...blockRoutes,
      viewerKeysRoute,
      openPageRoute,
      diagnoseRoute,
      ...tunnelRoutes,
    ],
  },
  pages: {
    needs: ['previews'],
    routes: [...pageRoutes, ...keptLookRoutes, findElementRoute, comparePagesRoute],
  },
  mcp: { needs: ['runs', 'previews'], routes: [callMcpRoute, ...oauthMetadataRoutes] },
  sandboxes: {
    needs: ['auth'],
    routes: [
      ...sandboxRoutes,
      ...sandboxListRoutes,
      ...sandboxNetworkRoutes,
      execCommandRoute,
      ptyTerminalRoute,
      ...fileRoutes,
      ...folderRoutes,
      uploadFilesRoute,
      downloadFolderRoute,
      ...workspaceRoutes,
      ...mountRoutes,
      ...execSessionRoutes,
      ...processRoutes,
      attachProcessRoute,
      ...serverRoutes,
      ...portRoutes,
      ...codeRoutes,
      ...sandboxStateRoutes,
      ...checkpointRoutes,
      ...forkRoutes,
      ...compareRoutes,
      followSandboxRoute,
      ...imageRoutes,
      ...skillRoutes,
      getQuotaRoute,
      usageRoute,
      ...archiveRoutes,
      ...warmPoolRoutes,
    ],
  },
  e2b: {
    needs: ['sandboxes'],
    routes: [
      ...e2bControlRoutes,
      ...e2bUsageRoutes,
      ...e2bSnapshotRoutes,
      ...e2bTemplateRoutes,
      ...envdRoutes,
      ...e2bCodeRoutes,
    ],
  },
  bridge: {
    needs: ['sandboxes', 'previews', 'ops', 'docs'],
    routes: [...mirroredRoutes, ...bridgeProcessRoutes, ...bridgeTerminalRoutes, bridgeDocumentRoute],
  },
  editor: {
    needs: ['sandboxes', 'console'],
    routes: [...toolRoutes, ...toolVersionRoutes, ...toolDraftRoutes, ...toolRunRoutes, ...editorPageRoutes],
  },
  auth: {
    needs: [],
    routes: [...delegationRoutes, validateSandboxRoute, ...apiKeyRoutes, ...signInRoutes, ...oidcRoutes],
  },
  ops: { needs: ['auth'], routes: [...opsRoutes, ...auditRoutes, ...webhookRoutes] },
  console: { needs: ['auth'], routes: [...consolePageRoutes, consoleAssetRoute] },
  docs: { needs: [], routes: openapiRoutes },
};

/** The routes of all features but those that are off. */
export function routesWithout(off: ReadonlySet<string>): readonly Route[] {
  return Object.entries(FEATURES).flatMap(([name, { routes }]) => (off.has(name) ? [] : routes));
}

export const ROUTES = routesWithout(new Set());
