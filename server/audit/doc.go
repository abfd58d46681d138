// Package audit makes entries of requests and has them written, before a request runs and after it.
//
//	auth ─ Begin ─▶ asked.go: what is asked, of which object ─▶ Entry ─▶ Log.write ─▶ File
//	     ─ end ───▶ answered.go: what came of it ──────────────▶ Entry ─▶ Log.write ─▶ File
//	     ─ Refuse ▶ audit.Flood: too many from there? ─────────▶ Entry ─▶ Log.write ─▶ File
//
// Requests of every transport end here: gRPC and REST by the interceptors of server/auth, the kubelet's paths by
// Authenticator.Audited, browsers by their sign-in. What the agent does for pods of files and URLs is no request.
//
// What a request is about is read from its message by the names of fields, and from the kind that its service states,
// so that a new method needs nothing here. A request that changes something, runs a command or shows values of Secrets
// is refused if its entry cannot be written, unless the node's owner prefers otherwise. Other requests go on.
//
// Start reading at Log.Begin in log.go.
package audit
