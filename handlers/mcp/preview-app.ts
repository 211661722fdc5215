/** The page that chat applications show for previews: the server's side of MCP Apps. */
import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
} from '@modelcontextprotocol/server';
import { ownUrls } from '../auth/validation-route.ts';
import { consoleFiles, previewSources } from '../console/console-files.ts';
import { PREVIEW_APP_PAGE } from '../console/console-folder.ts';
import type { Services } from '../services.ts';

const URI = 'ui://porthole/preview.html';

/** The metadata of a tool that the page shows. The second form is the one of early clients. */
export const SHOWN_IN_PREVIEW_APP = { ui: { resourceUri: URI }, 'ui/resourceUri': URI };

/** The page as a resource. Clients allow what its metadata asks for: to frame previews. */
export function previewApp(services: Services): Resource {
  const sources = services.previewSettings.enabled ? [previewSources(services)] : [];
  return {
    uri: URI,
    name: 'preview',
    title: 'Live preview',
    description: 'A live preview with its state, its approvals and a reload, for clients that show MCP Apps',
    mimeType: 'text/html;profile=mcp-app',
    _meta: { ui: { csp: { frameDomains: sources }, prefersBorder: true } },
  };
}

/**
 * The content of the page, which knows the address of Porthole and of its previews.
 * @throws ProtocolError for another URI, and before the console is built
 */
export async function readPreviewApp(
  services: Services,
  { uri, host }: { readonly uri: string; readonly host: string },
): Promise<ReadResourceResult> {
  const { mimeType, _meta } = previewApp(services);
  if (uri !== URI) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `There is no resource ${JSON.stringify(uri.slice(0, 200))}: resources/list names them.`,
      { uri: uri.slice(0, 200) },
    );
  }
  const page = (await consoleFiles())?.byPath.get(PREVIEW_APP_PAGE);
  if (page === undefined) {
    throw new ProtocolError(
      ProtocolErrorCode.InternalError,
      'The page is not built: npm start builds it within a minute, npm run build at once.',
    );
  }
  const settings = {
    url: ownUrls(services.publicUrl, host)[0] ?? '',
    zone: services.previewSettings.enabled ? services.previewSettings.zoneSuffix : '',
  };
  const text = page.plain
    .toString()
    .replace(/(<meta name="porthole-(url|zone)" content=")"/g, (_, tag: string, name: 'url' | 'zone') => {
      return `${tag}${settings[name].replace(/[&"<]/g, '')}"`;
    });
  return { contents: [{ uri, mimeType, text, _meta }] };
}
