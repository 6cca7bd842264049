// SPDX-License-Identifier: Apache-2.0
// A program that does nothing. Building it makes the precompiled headers that all test programs
// use. It must be a program and not a library, because precompiled headers must be compiled with
// the same flags as the test programs (-fPIE).
int main() { return 0; }
