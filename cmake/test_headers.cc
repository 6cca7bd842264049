// SPDX-License-Identifier: Apache-2.0
// A program that does nothing. Building it makes the precompiled headers that all test programs
// use; it must be a program because they are compiled with the flags of programs (-fPIE).
int main() { return 0; }
