#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright the rocketmq-go authors.
#
# Apache's exporter (rocketmq-exporter), unmodified, in front of our name server and broker: the metrics that it tells
# Prometheus of are compared with those in front of Apache's 5.3.3 after the same traffic: names, labels, and values where
# the traffic determines them. Differences that are known stand, with the reason, in conformance/exporter-known.txt; any
# other one fails. With --compat 4.9.7 it is our servers with that compatVersion, Apache's 4.9.7, and clients of 4.9.7.
#
# usage: conformance/exporter.sh EXPORTER.jar [--compat 4.9.7] [--record]     (built from its master branch with mvn package: the -exec.jar)
#
# --record puts it in front of Apache's servers and writes conformance/expected/apache-RELEASE.exporter. Needs JDK 17 or newer,
# Maven (for the scenario's jars, once) and Python 3, and the recorder beside this repository: ROCKETMQ_PEER names another
# place. About five minutes, most of it waiting for the exporter's jobs.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 1 ] && [ -f "$1" ] || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
jar=$(realpath "$1")
shift
release=5.3.3
if [ "${1:-}" = --compat ]; then release=$2; shift 2; fi
record=${1:-}
peer=$(realpath "${ROCKETMQ_PEER:-../shared/peer}")/mqadmin
recording=$PWD/conformance/expected/apache-$release.exporter
work=$(mktemp -d)
pids=()
finish() {
  touch "$work/end" # the scenario's clients leave
  [ -z "${scenario:-}" ] || wait "$scenario" || true
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  [ ! -d "$work/apache" ] || "$peer/run.py" cluster stop --work "$work/apache" || true
  wait || true
  [ -n "${KEEP:-}" ] && echo "kept: $work" || rm -rf "$work"
}
trap finish EXIT

port=$(python3 -c 'import random, socket
def free(p):
    with socket.socket() as s: return s.connect_ex(("127.0.0.1", p)) != 0
print(next(p for p in iter(lambda: random.randrange(14000, 32000), 0) if all(free(p + d) for d in (0, 8, 10, 11, 20, 30, 40, 41))))')
if [ "$record" = --record ]; then
  "$peer/run.py" cluster start --version "$release" --work "$work/apache" --port "$port"
else
  mkdir -p bin
  CGO_ENABLED=0 go build -trimpath -o bin/rocketmq ./cmd/rocketmq
  for role in namesrv broker; do # the configuration of Apache's servers, without what is not there yet
    only5='s/[ \t]*#5\.x.*//'
    [ "$release" = 5.3.3 ] || only5='/#5\.x/d'
    sed -e '/^enableControllerInNamesrv=/d' -e "$only5" -e "s/@NS@/$port/; s/@BROKER@/$((port + 10))/" \
      -e "s/@CONTROLLER@/$((port + 20))/; s/@PROM@/$((port + 30))/; s#@WORK@#$work#" "$peer/conf/$role.conf" >"$work/$role.conf"
    [ "$release" = 5.3.3 ] || echo "compatVersion=$release" >>"$work/$role.conf"
    HOME=$work bin/rocketmq $role -c "$work/$role.conf" --port-file "$work/$role.json" >"$work/$role.out" 2>&1 &
    pids+=($!)
    for _ in $(seq 200); do [ -s "$work/$role.json" ] && break; sleep 0.1; done
    [ -s "$work/$role.json" ] || { cat "$work/$role.out"; exit 1; }
  done
fi

# the recorded state, with its clients online
"$peer/run.py" run --namesrv "127.0.0.1:$port" --version "$release" --out "$work/out" \
  --only updateTopic,updateSubGroup,setConsumeMode,topicList --hold "$work/end" >"$work/scenario.out" 2>&1 &
scenario=$!
for _ in $(seq 600); do grep -q '^holding' "$work/scenario.out" && break; sleep 0.5; done
grep -q '^holding' "$work/scenario.out" || { tail -20 "$work/scenario.out"; exit 1; }

java -Xmx300m -XX:TieredStopAtLevel=1 -jar "$jar" --server.port=$((port + 40)) --server.address=127.0.0.1 \
  --grpc.server.port=$((port + 41)) --rocketmq.config.namesrvAddr="127.0.0.1:$port" >"$work/exporter.out" 2>&1 &
pids+=($!)
for _ in $(seq 300); do curl -sf -o "$work/probe" "http://127.0.0.1:$((port + 40))/metrics" && break; sleep 0.5; done
sleep 125 # its jobs run once a minute: two rounds
curl -sf -o "$work/metrics" "http://127.0.0.1:$((port + 40))/metrics"

# Lines that can be compared: addresses, process ids and times are masked, sorted; values that the traffic does not
# determine are ?.
python3 - "$work/metrics" "$port" >"$work/lines" <<'PY'
import re, sys
loose = re.compile("rocketmq_(brokeruntime_(?!msg_put|putmessage_times|put_message_size|commitlog_m|dispatch|remain_trans|start_accept|(send|pull|query)_thread)"
                   "|.*_tps$|.*_qps$|.*_rt$|.*_(get_latency|latency).*|.*message_size$|.*consume_fail|.*consume_ok)")
batched = 'topic="RMQ_SYS_TRACE_TOPIC"' # clients send traces together, as many as there are after some time
port = int(sys.argv[2])
for line in sorted(set(open(sys.argv[1]))):
    line = line.strip()
    if not line or line.startswith("#"): continue
    name, value = line.rsplit(" ", 1)
    for shift, word in ((0, "NS"), (8, "FAST"), (10, "BROKER")): name = re.sub(r":%d\b" % (port + shift), ":<%s>" % word, name)
    name = re.sub(r'(boottime|bootTime)="[^"]*"', r'\1="<TIME>"', name)
    name = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:<PORT>", name)
    name = re.sub(r"\b\d{1,3}(\.\d{1,3}){3}(?=[@:\"])", "<IP>", name)
    name = re.sub(r"@[^\",@]*(@[^\",]*)?(?=[\",])", "@<ID>", name)
    print(name, "?" if loose.match(name.split("{")[0]) or batched in name else value)
PY
sort -o "$work/lines" "$work/lines"
if [ "$record" = --record ]; then
  cp "$work/lines" "$recording"
  echo "$(wc -l <"$recording") samples recorded"
  exit
fi
awk -F'\t' -v known=conformance/exporter-known.txt -v release="$release" '
  BEGIN { while ((getline line < known) > 0) if (line !~ /^#/ && split(line, f, "\t") >= 3 && f[1] == release) why[f[2]] = f[3] }
  { at = match($0, / [^ ]*$/); key = substr($0, 1, at - 1); value = substr($0, at + 1) }
  FNR == NR { java[key] = value; next }
  { ours[key] = value }
  function report(key, what,   name) {
    name = key; sub(/[{].*/, "", name)
    if (key in why || name in why) { differ++; print key ": " what ": " (key in why ? why[key] : why[name]); return }
    bad++; print key ": " what
  }
  END {
    for (key in java) if (!(key in ours)) report(key, "missing, Java has " java[key]); else if (java[key] != ours[key]) report(key, ours[key] ", Java has " java[key]); else same++
    for (key in ours) if (!(key in java)) report(key, "not there in Java")
    print same + 0 " the same, " differ + 0 " known to differ, " bad + 0 " not"; exit bad > 0
  }
' "$recording" "$work/lines"
