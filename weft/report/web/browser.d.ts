// SPDX-License-Identifier: Apache-2.0
// Declares browser features that the type library of TypeScript 4.8 does not declare.
declare class DecompressionStream {
  constructor(format: "gzip" | "deflate");
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

interface Uint8ArrayConstructor {
  /** This function is undefined in older browsers. */
  fromBase64?(text: string): Uint8Array;
}
