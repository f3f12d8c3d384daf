# SPDX-License-Identifier: Apache-2.0
# Shared end of mqnamesrv and mqbroker: finds the installation and becomes the server. Sourced, with $command set.
# Works from any directory and through links. ROCKETMQ_HOME is kept when set, else it is the folder above this one.
bin=$(dirname -- "$(readlink -f -- "$0")")
: "${ROCKETMQ_HOME:=$(dirname -- "$bin")}"
export ROCKETMQ_HOME
if [ ! -x "$bin/rocketmq" ]; then
	echo "no rocketmq binary in $bin: build it with 'make build'" >&2
	exit 1
fi
exec "$bin/rocketmq" "$command" "$@"
