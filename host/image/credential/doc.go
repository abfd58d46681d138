// Package credential finds the credentials to pull an image with. They come from
// Docker's configuration, in Secrets and in files on the node.
//
//	{"auths": {"registry.example/team": {"auth": "..."}}}
//	           └── pattern, match.go ──┘  └─ dockerconfig.go
//
// A pattern names a host, in which * stands for a part between dots, perhaps a
// port, and perhaps how the path begins. Of several that match, the one that says
// most is tried first.
//
// Programs of the node's owner may be asked too (plugins.go): registries of clouds
// hand out credentials that last for hours.
//
// Errors of this package name no credential. Start reading at Keyring.For in
// keyring.go.
package credential
