#!/bin/bash
# Fuzzes every fuzz test: "fuzz.sh each SECONDS" for so long each, "fuzz.sh all SECONDS" for so long together. A failing
# input is written below testdata/fuzz, where every later "go test" runs it.
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD
export CGO_ENABLED=0
mkdir -p .cache/fuzz
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
fuzz_tests() { # DIR NAME, a line each
  grep -r --include='*_test.go' --exclude-dir=node_modules --exclude-dir=.cache '^func Fuzz' . |
    sed -n 's|^\(.*\)/[^/]*:func \(Fuzz[A-Za-z0-9_]*\)(.*|\1 \2|p' | sort
}
case $1 in
  each) seconds=$2 ;;
  all) seconds=$(($2 / $(fuzz_tests | wc -l))) ;;
  *) echo "fuzz: want each or all, and a number of seconds" >&2; exit 2 ;;
esac
status=0
binary() { echo "$root/.cache/fuzz/$(tr / - <<<"${1#./}").test"; } # of a DIR
# broken LOG: a fuzz whose time ends while it tries an input may fail, too, and names none (golang.org/issue/75804, before 1.27).
broken() { ! grep -q 'context deadline exceeded' "$1" || grep -qE 'Failing input|panic:' "$1"; }
build() { go test -c -vet=off -fuzz . -o "$(binary "$1")" "$1"; }
export root
export -f binary build
fuzz_tests | cut -d' ' -f1 | uniq | xargs -P "$(nproc)" -I{} bash -c 'build "$@"' _ {} || exit 1
while read -r dir name; do
  log=$root/.cache/fuzz/$name.log
  # Without a bound nearly all the time goes into making inputs small, and files on a disk wait for it.
  if ! (cd "$dir" && "$(binary "$dir")" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "${seconds}s" \
    -test.fuzzminimizetime 100x -test.fuzzcachedir "$root/.cache/fuzz/corpus/$dir") >"$log" 2>&1 && broken "$log"; then
    status=1
    cat "$log"
    echo "failed: $dir $name"
    continue
  fi
  echo "$dir $name: $(sed -n 's/.*execs: \([0-9]*\) .*/\1 inputs/p' "$log" | tail -n 1)"
done < <(fuzz_tests)
exit $status
