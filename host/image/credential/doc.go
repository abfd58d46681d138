// Package credential finds the credentials to pull an image with. They come from
// Docker's configuration, in Secrets and in files on the node.
//
//	{"auths": {"registry.example/team": {"auth": "..."}}}
//	           └── pattern, match.go ──┘  └─ dockerconfig.go
//
// A pattern names a host, in which * stands for a part between dots. It may name a port
// and the beginning of the path too. Of several patterns that match, the most specific is
// tried first.
//
// Programs of the node's owner may have credentials too (plugins.go), such as those that
// the registries of clouds issue for some hours.
//
// Errors of this package name no credential. Start reading at Keyring.For in
// keyring.go.
package credential
