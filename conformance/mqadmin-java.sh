#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright the rocketmq-go authors.
#
# Our mqadmin against Apache's name server and broker (and controller, of 5.3.3): what it prints is compared with what
# Java's mqadmin 5.3.3 printed for them. Needs JDK 17 or newer, Maven (for the jars, once) and Python 3, and the recorder
# beside this repository: ROCKETMQ_PEER names another place. The first argument is the release of the servers (5.3.3 or
# 4.9.7), three minutes; the others go to conformance/mqadmin, such as --record.
set -euo pipefail
cd "$(dirname "$0")/.."
peer=${ROCKETMQ_PEER:-../shared/peer}/mqadmin
release=${1:-5.3.3}
shift $(($# > 0))
for tool in java python3 go; do
  command -v "$tool" >/dev/null || { echo "conformance/mqadmin-java.sh: $tool is missing" >&2; exit 1; }
done
mkdir -p build/conformance
go build -o build/conformance/mqadmin ./conformance/mqadmin
base=$(python3 - <<'PY'
import socket
def free(p):
    with socket.socket() as s:
        try: s.bind(("127.0.0.1", p))
        except OSError: return False
        return True
print(next(b for b in range(15000, 31000, 97) if all(free(b + i) for i in range(45))))
PY
)
work=$(mktemp -d)
trap 'python3 "$peer/run.py" cluster stop --work "$work"; rm -rf "$work"' EXIT
python3 "$peer/run.py" cluster start --version "$release" --work "$work" --port "$base"
compat=
[ "$release" = 5.3.3 ] || compat=$release
build/conformance/mqadmin --tool ours --namesrv "127.0.0.1:$base" --broker "127.0.0.1:$((base + 10))" \
  --controller "127.0.0.1:$((base + 20))" --compat "$compat" "$@"
