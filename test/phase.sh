#!/bin/bash
# Runs one phase of the checks: phase.sh NAME COMMAND... It prints the name before, and the seconds
# after.
set -uo pipefail
name=$1
shift
echo "== $name"
start=$(date +%s.%N)
"$@"
status=$?
LC_ALL=C awk -v name="$name" -v from="$start" -v to="$(date +%s.%N)" -v failed=$((status != 0)) \
  'BEGIN { printf "== %s: %s in %.1f s\n", name, failed ? "FAILED" : "ok", to - from }'
exit $status
