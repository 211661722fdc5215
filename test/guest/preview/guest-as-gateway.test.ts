import { hostileAppContract } from '#test/proxy/hostile-app.contract.ts';
import { previewProxyContract } from '#test/proxy/preview-proxy.contract.ts';
import { previewUseContract } from '#test/proxy/preview-use.contract.ts';
import { requestSmugglingContract } from '#test/proxy/request-smuggling.contract.ts';
import { siblingPortsContract } from '#test/proxy/sibling-ports.contract.ts';
import { siblingsContract } from '#test/proxy/siblings.contract.ts';
import { webSocketContract } from '#test/proxy/websocket.contract.ts';
import { startGuestGateway } from './guest-gateway.ts';

// The guest passes the local gateway's contract, test by test.
previewProxyContract(startGuestGateway);
webSocketContract(startGuestGateway);
previewUseContract(startGuestGateway);
siblingsContract(startGuestGateway);
siblingPortsContract(startGuestGateway);
hostileAppContract(startGuestGateway);
requestSmugglingContract(startGuestGateway, 1);
