// Package auth identifies callers and decides whether they may do what they ask.
//
// It owns identities, the credentials that prove them and the one table of roles
// and verbs (Allow). It knows nothing of pods and opens no listener: package
// listen hands it connections, package server asks it about requests.
//
//	unix socket ── SO_PEERCRED ──┐
//	TLS ── client certificate ───┼─> Identity ─ Require(verb) ─> Auditor ─> handler ─> Auditor
//	header ── bearer token ──────┤  (the node's own, then those that a cluster knows)
//	cookie ── session ───────────┤
//	nothing ── anonymous, if on ─┘
//
// The ways are tried in that order and the first success wins. A wrong credential is
// an error even where anonymous callers are welcome: a caller that meant to be known
// must not silently become another. There is one exception, which is upstream's: where the
// configuration file lets anonymous callers in and no cluster knows tokens, a token that is not
// of the node's making counts as none.
//
// # Roles
//
//   - viewer: Read, without the values in the environments of pods (package server
//     hides them) and in Secrets, which only an admin is shown.
//   - operator: Read, Write (apply, delete, restart) and Exec. A plan is a Write,
//     since it would confirm a guess at a hidden value.
//   - admin: all, Admin (profiles, secrets in the configuration) included.
//
// Exec covers exec, run, attach, port-forward and checkpoint whatever the HTTP
// method, since a WebSocket opens with a GET.
//
// On the socket root and the agent's own user are admin. A member of the group
// that owns the socket file is an operator: the file's mode already let them
// connect, and a user who may post a pod may run anything in it. To share the
// socket with a group: chgrp it, or set that group and the setgid bit on its
// directory so that the next start keeps it. Any other user has to show a token.
//
// Organisations named "nodal:<role>" count only in certificates of the agent's
// own authority: the configured client CA must not be able to mint roles that its
// owner never heard of. There the group system:masters is admin, as in Kubernetes;
// other callers are known but may do nothing.
//
// # Narrowed roles
//
// A viewer or an operator may be narrowed to namespaces, by the record of a token or by units "nodal:namespace:<name>" in
// the subject of a certificate. Each method and each path states its Scope, and scope.go holds callers to it: what names
// another namespace is refused, and so is what belongs to the whole node. Lists, watches and bundles ask Sees or
// RequireNamespace about each thing. An admin cannot be narrowed: its pods may take over the machine.
//
// # A cluster's users
//
// A member of a cluster may ask it about unknown callers (cluster.go): whose a token
// is, and what a caller without a role here may do. The question is upstream's:
// a verb on nodes/proxy, nodes/stats, nodes/log, nodes/metrics or a narrower name,
// by the path; to exec is always to create. Of the API proper a cluster's roles open
// what they open on the kubelet's paths: get on nodes/proxy reads, create runs
// commands. They do not change what runs on the node. Without an answer the request
// fails.
//
// # Credentials on disk
//
// Bootstrap makes, below the root directory, what is missing:
//
//	pki/ca.crt ca.key             the authority
//	pki/serving.crt serving.key   the listener's certificate (or cert-dir/kubelet.*)
//	pki/tokens/<name>.json        role and SHA-256 of a token, nothing more
//	pki/sessions.json             signed-in browsers: owner, and SHA-256 of the cookie
//	pki/issued.json               client certificates that the node has issued: serial number, name, role, end
//	pki/revoked.json              the serial numbers of those that no longer count
//	credentials/<role>.token      the token itself, for its user
//	credentials/<role>.crt .key   a client certificate
//
// RevokeToken ends a token and its open streams at once (standing.go). To remove pki/tokens/<name>.json does so
// too, as soon as Watch notices, or within a second where nothing can be watched. A token of a role stays revoked over restarts for as long as its .token file is there, because only a
// missing .token file makes Bootstrap issue a new one.
// To rotate a token remove credentials/<name>.token and call Bootstrap again, as
// each start does: the new token replaces the old. RevokeCertificate does for a client certificate
// what RevokeToken does for a token. To revoke all of them remove pki/ca.crt: the next Bootstrap makes a new
// authority and new certificates under it. Call Bootstrap daily as well, so that an agent
// that never restarts renews its certificates; files are read again as they
// change, and no listener has to restart.
//
// # Browsers
//
// A browser signs in with a code or a token (SignIn) and gets a cookie. A code is
// good once and for ten minutes; IssueCode gives it to a caller that is identified by
// another way, and the session has that caller's rights. A session lasts twelve hours, and one that
// came from a token no longer than the token. It counts only for requests that the
// node's own page makes, under the name it was opened at: other pages, on other
// ports of the host too, cannot make a browser use it (browser.go).
//
// Start reading at Authenticator.identify, then Allow.
package auth
