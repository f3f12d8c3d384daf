#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright the rocketmq-go authors.
#
# The console (rocketmq-dashboard 2.1.0), unmodified, in front of our name server and broker: all its JSON endpoints are
# asked, and what they answer is compared with what they answered in front of Apache's 5.3.3. Differences that are known
# stand, with the reason, in conformance/console-known.txt; any other one fails.
#
# usage: conformance/console.sh CONSOLE.jar     (built from its tag rocketmq-dashboard-2.1.0 with mvn package)
#
# Needs JDK 17 or newer, Maven (for the scenario's jars, once) and Python 3, and the recorder and the recordings beside this
# repository: ROCKETMQ_PEER and ROCKETMQ_GOLDEN name other places. About five minutes, most of it waiting for the
# console's jobs.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 1 ] && [ -f "$1" ] || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
jar=$(realpath "$1")
peer=$(realpath "${ROCKETMQ_PEER:-../shared/peer}")
golden=$(realpath "${ROCKETMQ_GOLDEN:-../shared/golden}")/dashboard
known=$PWD/conformance/console-known.txt
work=$(mktemp -d)
pids=()
finish() {
  touch "$work/end" # the scenario's clients leave
  [ -z "${scenario:-}" ] || wait "$scenario" || true
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait || true
  [ -n "${KEEP:-}" ] && echo "kept: $work" || rm -rf "$work"
}
trap finish EXIT
mkdir -p bin
CGO_ENABLED=0 go build -trimpath -o bin/rocketmq ./cmd/rocketmq

# the configuration of the recorded servers, without what is not there yet
port=$(python3 -c 'import random, socket
def free(p):
    with socket.socket() as s: return s.connect_ex(("127.0.0.1", p)) != 0
print(next(p for p in iter(lambda: random.randrange(14000, 32000), 0) if all(free(p + d) for d in (0, 8, 10, 11, 20, 30))))')
for role in namesrv broker; do
  sed -e '/^enableControllerInNamesrv=/d' -e 's/[ \t]*#5\.x.*//' -e "s/@NS@/$port/; s/@BROKER@/$((port + 10))/" \
    -e "s/@CONTROLLER@/$((port + 20))/; s/@PROM@/$((port + 30))/; s#@WORK@#$work#" "$peer/mqadmin/conf/$role.conf" >"$work/$role.conf"
  HOME=$work bin/rocketmq $role -c "$work/$role.conf" --port-file "$work/$role.json" >"$work/$role.out" 2>&1 &
  pids+=($!)
  for _ in $(seq 200); do [ -s "$work/$role.json" ] && break; sleep 0.1; done
  [ -s "$work/$role.json" ] || { cat "$work/$role.out"; exit 1; }
done

# the recorded state, with its clients online
"$peer/mqadmin/run.py" run --namesrv "127.0.0.1:$port" --version 5.3.3 --out "$work/out" \
  --only updateTopic,updateSubGroup,setConsumeMode,topicList --hold "$work/end" >"$work/scenario.out" 2>&1 &
scenario=$!
for _ in $(seq 600); do grep -q '^holding' "$work/scenario.out" && break; sleep 0.5; done
grep -q '^holding' "$work/scenario.out" || { tail -20 "$work/scenario.out"; exit 1; }

java -Xmx300m -XX:TieredStopAtLevel=1 -jar "$jar" --server.port=$((port + 20)) --server.address=127.0.0.1 \
  "--rocketmq.config.namesrvAddrs[0]=127.0.0.1:$port" "--rocketmq.config.dataPath=$work/console" >"$work/console.out" 2>&1 &
pids+=($!)
for _ in $(seq 300); do curl -sf -o "$work/probe" "http://127.0.0.1:$((port + 20))/ops/homePage.query" && break; sleep 0.5; done
sleep 75 # the dashboard's answers come from jobs of a minute
"$peer/dashboard/collect.py" get --url "http://127.0.0.1:$((port + 20))" --namesrv "127.0.0.1:$port" --broker "127.0.0.1:$((port + 10))" \
  --facts "$work/out/.work/facts" --out "$work/answers" --actions >"$work/collect.out"
"$peer/dashboard/collect.py" compare "$golden" "$work/answers" --verbose >"$work/compare.out" || true
[ -n "${VERBOSE:-}" ] && cat "$work/compare.out"
awk -v known="$known" '
  BEGIN { while ((getline line < known) > 0) if (line !~ /^#/ && split(line, f, "\t") >= 2) why[f[1]] = f[2] }
  /^    / { detail = detail $0 "\n"; next }
  NF >= 2 && $1 !~ /^[{(]/ { report(); name = $1; verdict = $2; detail = "" }
  END { report(); print same " the same, " differ " known to differ, " bad " not"; exit bad > 0 }
  function report() {
    if (name == "") return
    if (verdict == "same") { same++; return }
    if (name in why) { differ++; print name ": " why[name]; return }
    bad++; print name ": " verdict; printf "%s", detail
  }
' same=0 differ=0 bad=0 "$work/compare.out"
