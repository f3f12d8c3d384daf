#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright the rocketmq-go authors.
#
# The official Java clients against our servers (bin/rocketmq), and clusters of our and Apache's servers, compared with
# the tables that Apache's servers gave. Needs JDK 17 or newer and Maven. Parts by name: java533 java497 proxy compat mixed
# stores bytes replication admin auth (default all).
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in java javac mvn go; do
  command -v "$tool" >/dev/null || { echo "conformance/java.sh: $tool is missing" >&2; exit 1; }
done
mkdir -p build/conformance
go build -o build/conformance/harness ./conformance/harness

# What one server of a pair asks of the other: routes, registration, heartbeats, retry topics, a restart.
lean=sync,create-topic,clustering,retry,transaction,offset-restart,broker-restart

run() { echo "--- $*"; build/conformance/harness run "$@"; }

failed=0
for part in ${@:-java533 java497 proxy compat mixed stores bytes replication admin auth}; do
  case $part in
    java533) run --server ours --client java533 || failed=1 ;;
    java497) run --server ours --client java497 || failed=1 ;;
    proxy) # Apache's proxy before our servers: the client of gRPC, and the classic one
      run --server ours --client java533 --proxy || failed=1 ;;
    compat)
      run --server ours --compat 4.9.7 --client java497 || failed=1
      run --server ours --compat 4.9.7 --client java533 || failed=1 ;;
    mixed)
      run --namesrv-kind ours --broker-kind apache-5.3.3 --client go --cases $lean || failed=1
      run --namesrv-kind apache-5.3.3 --broker-kind ours --client go --cases $lean || failed=1 ;;
    stores) # Java's broker and ours over one store in turn, with messages under way
      build/conformance/harness jars 5.3.3 4.9.7
      go test -tags java -run TestJavaContinues -timeout 15m ./broker/transaction ./broker/timer ./broker/pop || failed=1 ;;
    bytes) # the same requests to Java's brokers and ours: the same bytes in the commit logs
      build/conformance/harness bytes 5.3.3 4.9.7 || failed=1 ;;
    replication) # a master and a slave, one of them ours; Apache's brokers with our controller; slaves that act as master
      build/conformance/harness replicate apache-5.3.3/ours ours/apache-5.3.3 apache-4.9.7/ours ours/apache-4.9.7 || failed=1
      build/conformance/harness failover 5.3.3 || failed=1
      build/conformance/harness acting apache-5.3.3/ours ours/apache-5.3.3 || failed=1 ;;
    admin) # the calls of the console and of the exporter
      build/conformance/harness admin --server ours || failed=1
      build/conformance/harness admin --server ours --compat 4.9.7 --tools 4.9.7 || failed=1 ;;
    auth) # clients that sign, to a broker with access rules
      run --server ours --client java497 --auth acl || failed=1
      run --server ours --client java533 --auth users || failed=1 ;;
    *) echo "unknown part $part" >&2; exit 2 ;;
  esac
done
exit $failed
