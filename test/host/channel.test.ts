import { portholeCommandContract } from '#test/contracts/porthole-command.contract.ts';

portholeCommandContract(() => ({}));
