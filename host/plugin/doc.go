// Package plugin talks to the plugins that register in a directory of the node, as Kubernetes'
// CSI, device and DRA plugins do: each has a socket there and serves pluginregistration v1 on it.
//
//	directory ── inotify, a scan now and then ──▶ board: which sockets there are
//	loop ── Ask, Answer, Forget ──▶ socket ──▶ board: what each says of itself, and has heard
//	connection breaks ──▶ board
//
// The reconciler's loop decides when a plugin is asked and what it hears; this package does it
// and writes down on the board (node/store.Plugins) what came of it.
//
// Plugins are not trusted. A socket is opened by its inode: no link is followed, so no path
// leaves the directory, and another socket under the same name is another plugin. Each call has
// a deadline and each message a bound. A plugin that hangs, lies or comes and goes costs the
// others nothing, and touches no pod.
//
// A connection is kept for as long as the plugin lives: a plugin that was killed leaves its
// socket behind, and its connection alone shows that.
//
// Start reading at Registry in registry.go.
package plugin
