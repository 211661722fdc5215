/** The page of a small chat application that shows MCP Apps; the test bundles it. */
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';

/**
 * Shows an app for a tool call, like a message of the chat.
 * @param {{ address: string, name: string, input: object, serverTools: boolean }} shown
 */
globalThis.showApp = async ({ address, name, input, serverTools }) => {
  const frame = document.createElement('iframe');
  frame.title = 'app';
  frame.width = 700;
  frame.setAttribute('sandbox', 'allow-scripts allow-same-origin allow-forms allow-popups');
  document.body.replaceChildren(frame);
  const capabilities = { openLinks: {}, ...(serverTools && { serverTools: {} }) };
  const bridge = new AppBridge(null, { name: 'a chat', version: '1.0.0' }, capabilities, {
    hostContext: { theme: 'light' },
  });
  bridge.oncalltool = (call) => globalThis.callTool(call);
  bridge.onopenlink = async ({ url }) => {
    globalThis.opened = url;
    return {};
  };
  bridge.addEventListener('sizechange', ({ height }) => {
    frame.height = height;
  });
  const initialized = new Promise((resolve) => bridge.addEventListener('initialized', resolve));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.src = address;
  await initialized;
  await bridge.sendToolInput({ arguments: input });
  const result = await globalThis.callTool({ name, arguments: input });
  await bridge.sendToolResult(result);
};
