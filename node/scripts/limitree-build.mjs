#!/usr/bin/env node
// limitree-build [cmake option ...]: builds the native module from the sources
// in the package and puts it where it is looked for.
//
// Takes CMake 3.25, a C++20 compiler, pkg-config, libyaml, hiredis and OpenSSL;
// no node-gyp and no network.  On Debian and Ubuntu: apt-get install cmake g++
// make pkg-config libyaml-dev libhiredis-dev libssl-dev

import { createRequire } from 'node:module';

import { buildNative } from './native.mjs';

const { platform } = createRequire(import.meta.url)('../dist/platform.js');

buildNative('limitree-build', platform(), process.argv.slice(2));
