#!/bin/bash
# Generates all generated files: Go under api/gen, and the OpenAPI document. With an argument it
# writes into that directory instead of the repository.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath "${1:-.}")

# Annotations that our protos import. Only protos are read from this module, and its checksum is
# verified as for any other.
annotations=github.com/grpc-ecosystem/grpc-gateway@v1.16.0
go mod download "$annotations"
rm -rf .cache/googleapis
mkdir -p .cache/googleapis/google/api
for name in annotations http httpbody; do
  ln -s "$(go env GOMODCACHE)/$annotations/third_party/googleapis/google/api/$name.proto" .cache/googleapis/google/api/
done

rm -rf "$out/api/gen"
test/buf.sh generate api/proto --output "$out"

# The OpenAPI plugin refuses a DELETE with a body, and has no flag that allows one.
rm -rf .cache/openapi
test/buf.sh build api/proto --output -#format=json |
  sed 's/\("delete":"[^"]*"\),"body":"[^"]*"/\1/g' |
  test/buf.sh generate --template buf.gen.openapi.yaml -#format=json

# One document for readers: the services' parts, the kubelet's own paths, and what the plugin cannot
# describe of raw bodies and streams.
mkdir -p "$out/openapi"
go run ./openapi/assemble .cache/openapi openapi/kubelet.yaml "$out/openapi/openapi.json"
