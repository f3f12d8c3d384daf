#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright the rocketmq-go authors.
#
# Java's mqadmin, unmodified, with all its sub-commands against our name server and broker: what it prints is compared
# with what it printed for Apache's. Needs JDK 17 or newer, Maven (for the tools' jars, once) and Python 3, and the
# recorder beside this repository: ROCKETMQ_PEER names another place. Arguments are versions of the tool; behind an @ the
# release that our servers follow, if it is not 5.3.3. Each run has servers of its own and mostly waits, so they run at
# the same time, a minute or two. See conformance/mqadmin/main.go.
set -euo pipefail
cd "$(dirname "$0")/.."
peer=${ROCKETMQ_PEER:-../shared/peer}/mqadmin
for tool in java javac mvn python3 go; do
  command -v "$tool" >/dev/null || { echo "conformance/mqadmin.sh: $tool is missing" >&2; exit 1; }
done
logs=build/conformance
mkdir -p $logs
CGO_ENABLED=0 go build -trimpath -o $logs/rocketmq ./cmd/rocketmq
go build -o $logs/mqadmin ./conformance/mqadmin

[ $# -gt 0 ] || set -- 5.3.3 4.9.7 4.9.7@4.9.7
for version in $(printf '%s\n' "${@%@*}" | sort -u); do
  python3 "$peer/run.py" jars --version "$version" >/dev/null
done
runs=()
for run in "$@"; do
  compat=${run#"${run%@*}"}
  $logs/mqadmin --bin $logs/rocketmq --version "${run%@*}" --compat "${compat#@}" --peer "$peer" >"$logs/mqadmin-$run.log" 2>&1 &
  runs+=($!)
done
failed=0
for run in "$@"; do
  wait "${runs[0]}" || failed=1
  runs=("${runs[@]:1}")
  echo "--- mqadmin $run"
  cat "$logs/mqadmin-$run.log"
done
exit $failed
