// SPDX-License-Identifier: Apache-2.0
// Compiled only so that its precompiled headers exist; see weft.cmake.
