#!/bin/sh
# Prints how much of the C and C++ code the tests run: lines and branches of
# each room.  docs/testing.md has the table.
#
# Needs clang with its llvm-profdata and llvm-cov.  Builds in build/coverage.
# Arguments go to ctest: `scripts/coverage.sh -L unit`.
set -eu
cd "$(dirname "$0")/.."

# The tools of the compiler's own version: another one cannot read its profiles.
tool() {
  version=$(clang -dumpversion)
  command -v "$1-${version%%.*}" || command -v "$1" || {
    echo "$1 is not installed" >&2
    exit 77
  }
}
profdata=$(tool llvm-profdata)
cov=$(tool llvm-cov)

build=build/coverage
profiles=$PWD/$build/profiles
# Building runs the test programs, to list their suites.
export LLVM_PROFILE_FILE=/dev/null
cmake --preset coverage >/dev/null
cmake --build --preset coverage
rm -rf "$profiles"
mkdir "$profiles"

# A test that fails has run, too, so the table is printed in any case.
failed=0
LLVM_PROFILE_FILE=$profiles/%m.profraw \
  ctest --preset coverage --parallel "$(($(getconf _NPROCESSORS_ONLN) * 3))" \
  -LE 'lint|docs|install|tidy|abi' "$@" || failed=1

"$profdata" merge -o "$profiles/all" "$profiles"/*.profraw
set --
for program in "$build"/tests/*_test "$build"/bindings/cli/limitree; do
  set -- "$@" -object "$program"
done
"$cov" export -summary-only -instr-profile "$profiles/all" \
  "$build/capi/liblimitree.so" "$@" >"$build/coverage.json"
python3 -B scripts/coverage_table.py "$build/coverage.json"
exit $failed
