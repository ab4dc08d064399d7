export CGO_ENABLED := 0
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

.PHONY: build web run quick test check bench soak release

build: web ; go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$(VERSION)" -o bin/larder ./cmd/larder
web: ; scripts/web
run: build ; bin/larder serve
quick: ; scripts/quick
test: ; scripts/test
check: ; scripts/check
bench: build ; scripts/bench
soak: ; scripts/soak
release: ; scripts/release
