# Everything a developer runs. `make` alone prints the targets; docs/testing.md
# says what each run proves.

SHELL := /bin/bash
.SHELLFLAGS := -eo pipefail -c

PKG      ?= ./...
DEEP     ?= 10
FUZZTIME ?= 30s
TIMEOUT  ?= 20m
BENCH    ?= --files 10000
OSES     := linux darwin windows

# One step after the other: the last line is the count of the tests.
.NOTPARALLEL:

.PHONY: vscode watched mac site help needs test lint check windows extension deep faults agents build dist vulnerabilities bench fuzz clean

help:
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# One package is tested without what has nothing to do with it.
test: needs ## everything that a change must pass (PKG=./cas for one package)
	@$(MAKE) --no-print-directory lint $(if $(filter ./...,$(PKG)),extension) check

needs: ## what `make test` needs, and what of it is missing
	@tools/needs.sh

# What is read from the sources needs nothing compiled for another system, which would take
# five minutes of processor time each. `make dist` and `make windows` compile.
lint: ## formatting, what go vet finds, layers and shape, for each system; staticcheck, and what nothing reaches (versions: tools/go.mod)
	@echo "== lint: formatting, tools/lint for $(OSES), staticcheck and deadcode"
	@bad=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$bad" ]; then echo "gofmt: $$bad" >&2; exit 1; fi
	@export CGO_ENABLED=0; go build -C tools -o ../bin/lint ./lint && for os in $(OSES); do GOOS=$$os bin/lint $(PKG) || exit 1; done
	@CGO_ENABLED=0 go tool -modfile=tools/go.mod staticcheck -checks 'all,-ST1000,-ST1003,-ST1005,-ST1016,-ST1020,-ST1021,-ST1022,-ST1023,-QF*' $(PKG)
	@dead=$$(CGO_ENABLED=0 go tool -modfile=tools/go.mod deadcode ./... | grep -v 'internal/seed\|internal/gittest\|internal/s3test\|watch/internal/told\|fuzz/\|UnmarshalJSON' || true); if [ -n "$$dead" ]; then echo "$$dead" >&2; exit 1; fi

check: ## the Go tests, with the race detector where goroutines meet (PKG=./cas, TIMEOUT=20m)
	@echo "== check: the Go tests; building them takes minutes the first time"
	@CGO_ENABLED=0 go test -C tools -vet=all ./testsum ./api ./forms ./lint
	@CGO_ENABLED=0 go test -C bench/page -vet=all .
	@RACE=$(RACE) TIMEOUT=$(TIMEOUT) tools/check.sh $(PKG)

api: ## what a change breaks for programs in Go, since the last tag (BASE=main)
	@go run -C tools ./api -C .. -base '$(BASE)'

deep: ## all that the tests can try, of what is random DEEP=10 times as much; then every test under the race detector
	@$(if $(filter ./...,$(PKG)),REWIND_DEEP=$(DEEP) extension/pi/test/run.sh)
	@REWIND_DEEP=$(DEEP) TIMEOUT=24h tools/check.sh $(PKG)
	@RACE=all TIMEOUT=60m tools/check.sh $(PKG)

faults: ## some fifty faults, one at a time, each of which a test must find (ONLY=mirror): an hour
	@go run -C tools ./faults -only '$(ONLY)'

windows: ## the Go tests as programs for Windows, here by Wine; names first what it needs (PKG=./cas for one package)
	@echo "== windows: the Go tests as programs for Windows"
	@$(if $(filter command line,$(origin TIMEOUT)),TIMEOUT=$(TIMEOUT)) tools/windows.sh $(filter-out ./...,$(PKG))

extension: ## the extensions of Pi (types, units, and the real Pi) and of VS Code (types, units); npm installs what they need
	@echo "== extension: the tests of the Pi extension; npm installs what they need the first time"
	@extension/pi/test/run.sh
	@echo "== extension: the tests of the VS Code extension that need no editor"
	@extension/vscode/test/run.sh

vscode: ## the VS Code extension in a real VS Code in a real browser (installed by npm below extension/vscode: 1.2 GB)
	@extension/vscode/test/e2e/run.sh

agents: build ## the integrations on the real agents, installed by npm below extension/hosts (AGENTS='claude codex')
	@extension/hosts/run.sh $(AGENTS)

dist: ## a release of the last commit, twice, checked and tested and not published, in dist: five minutes
	@tools/release/dist.sh

vulnerabilities: ## govulncheck: known ones that the program can reach (asks the Go project's database)
	@go tool -modfile=tools/release/go.mod govulncheck ./...

build: ## bin/rewind
	CGO_ENABLED=0 go build -trimpath -o bin/rewind ./cmd/rewind

bench: build ## rewind beside git and the peers, in one run (BENCH='--corpus DIR --rounds 11')
	bin/rewind bench $(BENCH)

watched: build ## what is asked of a watched worktree and the ways back, at 78,311 and 1,000,000 files, in memory and on ext4 (CORPUS=DIR BEFORE=COMMIT): two hours
	@tools/watched.sh

mac: ## the tests of what reads and writes files, where names are taken as macOS takes them (Linux, FUSE)
	@tools/mac.sh

site: ## the site of docs/, in site/dist; npm installs what it needs below site
	@cd site && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error && npm run --silent build

fuzz: ## each fuzz target for a while (FUZZTIME=10m PKG=./ledger)
	@for p in $$(go list $(PKG)); do \
	  for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p; \
	  done; \
	done

clean: ## what the targets above leave
	rm -rf bin dist extension/pi/node_modules extension/pi/.pi extension/pi/.build extension/hosts/installed extension/vscode/node_modules extension/vscode/dist extension/vscode/test/e2e/installed
