import type { GatewayEvent, GatewayResult } from './gateway-event.ts';

/** What a function's bundle exports as `handler`. */
export type GatewayFunction = (event: GatewayEvent, context?: object) => Promise<GatewayResult>;
