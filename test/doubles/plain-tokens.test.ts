import { tokensContract } from '#test/contracts/tokens.contract.ts';
import { plainTokens } from './plain-tokens.ts';

tokensContract('plain tokens', plainTokens);
