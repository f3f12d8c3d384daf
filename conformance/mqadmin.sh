#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright the rocketmq-go authors.
#
# Java's mqadmin, unmodified, with all its sub-commands against our name server and broker: what it prints is compared
# with what it printed for Apache's 5.3.3. Needs JDK 17 or newer, Maven (for the tools' jars, once) and Python 3, and the
# recorder and the recordings beside this repository: ROCKETMQ_PEER and ROCKETMQ_GOLDEN name other places. Versions of
# the tools as arguments (default 5.3.3 4.9.7); about ten minutes each. See conformance/mqadmin/main.go.
set -euo pipefail
cd "$(dirname "$0")/.."
peer=${ROCKETMQ_PEER:-../shared/peer}/mqadmin
golden=${ROCKETMQ_GOLDEN:-../shared/golden}/mqadmin
for tool in java javac mvn python3 go; do
  command -v "$tool" >/dev/null || { echo "conformance/mqadmin.sh: $tool is missing" >&2; exit 1; }
done
mkdir -p build/conformance
CGO_ENABLED=0 go build -trimpath -o bin/rocketmq ./cmd/rocketmq
go build -o build/conformance/mqadmin ./conformance/mqadmin

[ $# -gt 0 ] || set -- 5.3.3 4.9.7
failed=0
for version in "$@"; do
  case $version in
    5.*) recorded=$golden/$version ;;
    *) recorded=$golden/$version-on-5.3.3 ;;
  esac
  echo "--- mqadmin $version"
  build/conformance/mqadmin --version "$version" --peer "$peer" --golden "$recorded" || failed=1
done
exit $failed
