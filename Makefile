# `make help` lists the targets. The work is done by scripts below test/; this file is their table of
# contents.
SHELL := /bin/bash
.DEFAULT_GOAL := help

# An older Go fetches the toolchain of go.mod, even if the environment says "local". A newer Go is used
# as it is.
export GOTOOLCHAIN := auto
# The version comes from -ldflags. Without -buildvcs=false, a clone of another owner would not build. With -trimpath,
# clones in other directories share what the compiler, vet and staticcheck have cached: minutes of each first run.
export GOFLAGS := $(GOFLAGS) -buildvcs=false -trimpath
export PATH := $(PATH):/usr/sbin:/sbin

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
ROUNDS ?= 100
PLANES ?= 1.35 1.37
FUZZTIME ?= 3600

.PHONY: help build bundle web dist setup-dist run run-sim cluster kubeadm clean-node check test test-all test-v2 test-node lint gen api-image licenses vuln bench chaos planes soak sanity fuzz fuzz-short fmt setup setup-tests clean

help: ## list the targets
	@awk -F ': .*## ' '/^[a-z0-9-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' Makefile

build: bundle web ## build bin/kubelet
	@go run ./test/pack documents.tar.zst
	CGO_ENABLED=0 go build -tags bundle,grpcnotrace,packed -trimpath -gcflags=k8s.io/api/...=-l -ldflags '-s -w -X main.version=$(VERSION)' -o bin/kubelet ./cmd/kubelet

bundle: ## build the kubelet's own container runtime, unless it is up to date
	@host/runtime/bundle/build.sh

web: ## build the dashboard for the next bin/kubelet, unless it is up to date
	@web/build.sh

dist: web ## build a release into dist/: one static binary for each architecture, checksums, licences, the systemd unit
	@test/dist.sh dist $(VERSION)
	@NODAL_DIST=$(CURDIR)/dist NODAL_DIST_VERSION=$(VERSION) go test -count=1 -run 'TestTheBinary|TestChecksums' ./test/dist

setup-dist: ## install what make dist needs from Debian for the other architecture, arm64 or amd64
	@test/cross.sh

run: setup build ## bring up a node with one example pod and print how to reach it
	@go build -o .cache/example ./test/run && .cache/example

clean-node: ## remove what make run has left
	@go build -o .cache/example ./test/run && .cache/example -clean

run-sim: ## the same without root or containers, on a simulated runtime
	@! command -v npm >/dev/null || web/build.sh
	@mkdir -p .cache && CGO_ENABLED=0 go build -trimpath -o .cache/kubelet-plain ./cmd/kubelet
	@go build -o .cache/example-sim ./test/runsim && .cache/example-sim -kubelet .cache/kubelet-plain

cluster: setup build ## bring up a Kubernetes cluster of one node, print its kubeconfig, remove it at Ctrl-C
	@test/cluster/parts/build.sh
	@go build -o .cache/example ./test/run && .cache/example -cluster $(CURDIR)/.cache/parts -dir /var/lib/nodal-cluster

kubeadm: setup build ## the same with two nodes, made by kubeadm on two machines in namespaces of this one
	@test/cluster/parts/build.sh
	@test/cluster/parts/peer.sh
	@test/cluster/parts/addons.sh
	@go build -o .cache/example ./test/run && .cache/example -kubeadm $(CURDIR)/.cache/parts -dir /var/lib/nodal-kubeadm

check: ## run lint, unit tests, scripts and 1,000 seeds: no root, no containers, under 3 minutes
	@test/check.sh

test: setup-tests ## run every check, and the tests without those of test/whole.txt, with a real container runtime
	@test/all.sh

test-all: setup-tests ## run every check and every test, with a real container runtime
	@test/all.sh all

test-v2: setup-tests ## run all tests of a node on its own runtime, then on cgroup v2 in an emulated machine; hours, or PART=2/6 of it
	@test/vm/all.sh

test-node: ## build the dashboard and run its unit tests with Debian 12's node and npm, the oldest supported
	@test/oldest_node.sh

lint: ## vet, staticcheck, formatting, generated code, API lint and breaking check
	@test/lint.sh

gen: ## generate Go and OpenAPI from the protos
	test/gen.sh

api-image: gen ## save the API as the base of the breaking check, if it does not break the saved one
	test/checks.sh compatible
	test/buf.sh build api/proto --exclude-source-info --output api/proto/node.binpb

licenses: web ## collect the licences of all that is linked or bundled, after a change of libraries
	go run ./test/licenses -o cmd/kubelet/command/licenses/licenses.txt.gz

vuln: ## look for known vulnerabilities (needs vuln.go.dev)
	go run golang.org/x/vuln/cmd/govulncheck@v1.8.0 ./...

bench: setup-tests build ## compare with raw CRI calls, and with PEER_KUBELET=path; writes docs/BENCHMARKS.md
	@test/cluster/parts/build.sh
	go run ./test/bench

chaos: setup-tests ## kill agent, runtime and API server at random moments, ROUNDS=100 times each
	@test/cluster/parts/build.sh
	@test/cluster/parts/peer.sh
	NODAL_REQUIRE_ROOT=1 NODAL_SWAPS=20 go test -count=1 -timeout 1h -run TestUpstreamsKubelet ./test/cluster
	NODAL_REQUIRE_ROOT=1 NODAL_CHAOS_ROUNDS=$(ROUNDS) go test -count=1 -timeout 6h -run Chaos ./test/...
	NODAL_REQUIRE_ROOT=1 NODAL_SOAK=$$((5 * $(ROUNDS))) go test -count=1 -timeout 2h -run TestVolumesComeAndGoThroughCrashes ./test/e2e
	go test -count=1 -timeout 1h -run TestSubPathHoldsAgainstSwaps ./host/volume -swaps $$((10000 * $(ROUNDS)))

planes: setup-tests bundle ## run the tests of a node in a cluster on other control planes, PLANES="1.35 1.37"; build them first
	@test/cluster/parts/build.sh
	@test/cluster/parts/addons.sh
	for minor in $(PLANES); do test/cluster/planes.sh $$minor || exit 1; done

soak: setup-tests bundle ## let a year's pods come and go, and print by how much each figure grows; about an hour
	NODAL_REQUIRE_ROOT=1 NODAL_SOAK_SIMULATED=20000 NODAL_SOAK_REAL=1000 go test -count=1 -v -timeout 3h -run TestNothingGrows ./test/soak

sanity: ## have CSI's own suite ask the CSI driver of the tests (needs root, and a module proxy)
	go test -count=1 -v -tags sanity -run TestTheDriverIsSane ./test/csidriver

fuzz: ## fuzz all that reads bytes of strangers, for FUZZTIME=3600 seconds together
	test/fuzz.sh all $(FUZZTIME)

fuzz-short: ## the same for 5 seconds each, as make test-all does
	test/fuzz.sh each 5

fmt: ## format Go and proto files
	"$$(go env GOROOT)/bin/gofmt" -w $$(find . -name '*.go' -not -path '*/node_modules/*' -not -path './.cache/*')
	test/buf.sh format --write api/proto

setup: ## install what make run needs from Debian
	@test/setup.sh

setup-tests: ## install what the tests need from Debian
	@test/setup.sh tests

clean: ## remove what was built
	rm -rf bin dist .cache test/tools/node_modules web/node_modules web/dist/app host/runtime/embedded/bundle.* host/runtime/embedded/pause
