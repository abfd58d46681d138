#!/bin/bash
# Generates everything that is generated: Go under api/gen, the OpenAPI document.
# With an argument it writes into that directory instead of the repository.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath "${1:-.}")

# Annotations that our protos import. The module is data to us, no code of it
# is built; the checksum database vouches for it as for any other module.
annotations=github.com/grpc-ecosystem/grpc-gateway@v1.16.0
go mod download "$annotations"
rm -rf .cache/googleapis
mkdir -p .cache/googleapis/google/api
for name in annotations http httpbody; do
  ln -s "$(go env GOMODCACHE)/$annotations/third_party/googleapis/google/api/$name.proto" .cache/googleapis/google/api/
done

rm -rf "$out/api/gen"
test/buf.sh generate api/proto --output "$out"

# The OpenAPI plugin refuses a DELETE with a body, and has no flag for it.
rm -rf .cache/openapi
test/buf.sh build api/proto --output -#format=json |
  sed 's/\("delete":"[^"]*"\),"body":"[^"]*"/\1/g' |
  test/buf.sh generate --template buf.gen.openapi.yaml -#format=json

# One document for readers: the services' parts, the kubelet's own paths, and
# what the plugin cannot say of raw bodies and streams.
mkdir -p "$out/openapi"
go run ./openapi/assemble .cache/openapi openapi/kubelet.yaml "$out/openapi/openapi.json"
