# SPDX-License-Identifier: Apache-2.0
# Copyright the rocketmq-go authors.

GO      ?= go
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
POWER_ROUNDS ?= 3000
GOLDEN  ?= $(abspath ../shared/golden)

.PHONY: build run test test-unit test-race lint golden power bench conformance-go conformance-java conformance-mqadmin conformance-mqadmin-apache clean

build: ## the one static binary, bin/rocketmq
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/rocketmq ./cmd/rocketmq

run: build ## name server and broker in one process, store under ./data
	bin/rocketmq standalone --store ./data

test: test-unit conformance-go ## everything that needs neither Java nor files outside this clone

test-unit:
	$(GO) test ./...
	cd conformance/goclient && $(GO) vet ./... && $(GO) test ./...

test-race:
	$(GO) test -race -short ./...

lint:
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@out=$$($(GO) tool gofumpt -l .); if [ -n "$$out" ]; then echo "gofumpt:"; echo "$$out"; exit 1; fi

golden: ## the full recordings of the real system (GOLDEN=folder), judged by Java's own store code
	for release in v4 v5; do $(GOLDEN)/../peer/store-tools/run.sh $$release build || exit 1; done
	ROCKETMQ_GOLDEN=$(GOLDEN) $(GO) test -tags golden -run Golden -timeout 30m ./...

power: ## thousands of power failures (POWER_ROUNDS) on a simulated disk, and 100,000 queues
	ROCKETMQ_POWER_ROUNDS=$(POWER_ROUNDS) $(GO) test -run TestPowerFailures -v -timeout 4h ./store
	ROCKETMQ_POWER_ROUNDS=$(POWER_ROUNDS) $(GO) test -run TestPowerFailures -v -timeout 4h ./broker/timer ./broker/metafile
	ROCKETMQ_SCALE_QUEUES=100000 $(GO) test -run TestManyQueues -v -timeout 1h ./store

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

conformance-go: build ## the official Go client as a black-box suite
	$(GO) run ./conformance/harness run --server ours --client go
	$(GO) run ./conformance/harness run --server ours --client go --auth acl
	$(GO) run ./conformance/harness run --server ours --client go --auth users

conformance-java: build
	conformance/java.sh $(PARTS)

conformance-mqadmin-apache: ## our mqadmin on Apache's servers of 5.3.3 and 4.9.7
	conformance/mqadmin-java.sh 5.3.3
	conformance/mqadmin-java.sh 4.9.7

conformance-mqadmin: ## Java's mqadmin 5.3.3 and 4.9.7 on our servers, compared with what it prints for Apache's
	conformance/mqadmin.sh

clean:
	rm -rf bin/rocketmq build
