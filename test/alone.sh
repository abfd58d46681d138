#!/bin/bash
# alone.sh COMMAND...
#
# Runs a command while no other runs by this script. Only the command carries the mark NODAL_TEST_RUN, from NODAL_RUN:
# tests look for marked processes that others have left, and one that waits here is not left.
exec flock --close "$(dirname "$0")/../.cache/real.lock" env NODAL_TEST_RUN="$NODAL_RUN" "$@"
