import { describe } from '@jest/globals';
import { doctorContract } from '#test/contracts/doctor.contract.ts';

describe('the doctor', () => {
  doctorContract(() => ({}));
});
