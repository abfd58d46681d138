// Package credential finds what to pull an image with. Docker's configuration is
// where credentials come from: in Secrets, and in files on the node.
//
//	{"auths": {"registry.example/team": {"auth": "..."}}}
//	           └── pattern, match.go ──┘  └─ dockerconfig.go
//
// A pattern names a host, in which * stands for a part between dots, perhaps a
// port, and perhaps how the path begins. Of several that match, the one that says
// most is tried first.
//
// Errors of this package name no credential. Start reading at Keyring.For in
// keyring.go.
package credential
