// SPDX-License-Identifier: Apache-2.0
// What browsers have and the type library of TypeScript 4.8 does not know yet.
declare class DecompressionStream {
  constructor(format: "gzip" | "deflate");
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

interface Uint8ArrayConstructor {
  /** Only newer browsers have it. */
  fromBase64?(text: string): Uint8Array;
}
