import type { GatewayEvent, GatewayResult } from './gateway-event.ts';

/** The export `handler` of a function's bundle. */
export type GatewayFunction = (event: GatewayEvent, context?: object) => Promise<GatewayResult>;
