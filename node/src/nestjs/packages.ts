// The packages of NestJS.  They are modules since its version 12 and CommonJS
// before: `require` loads both.

import type * as Common from '@nestjs/common' with {
  'resolution-mode': 'import' };
import type * as Core from '@nestjs/core' with {
  'resolution-mode': 'import' };

export const common = require('@nestjs/common') as typeof Common;
export const core = require('@nestjs/core') as typeof Core;

type WsException = new (error: object) => Error;

/** Only where there are WebSockets, so that their package is there. */
export function wsException(): WsException {
  const sockets =
    require('@nestjs/websockets') as { readonly WsException: WsException };
  return sockets.WsException;
}
