// The error for options that are not valid.

import { ConfigError } from '../errors.js';

export function refuse(message: string): never {
  throw new ConfigError([message]);
}
