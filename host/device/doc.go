// Package device talks to the plugins of devices, which speak Kubernetes' deviceplugin v1beta1.
//
//	plugin ── Register ──▶ kubelet.sock ──▶ a link to the plugin's own socket
//	plugin ── the registry (host/plugin) ──▶ board of plugins ──▶ the same
//	link ── GetDevicePluginOptions, ListAndWatch ──▶ board: which devices there are
//	reconciler ── Prefer, Allocate, PreStart ──▶ link ──▶ what a container needs to have its devices
//
// The board (node/store.Devices) is all that other parts see of a plugin's list. Which container gets which device is
// decided when its pod is accepted (node/assign); when a plugin is asked is decided by the reconciler.
//
// Plugins are not trusted. A link goes to a socket of the directory, and follows no symbolic link. Each call has a
// deadline and each message a bound, a list is read a few times a second at most, and an answer that no container
// could be made of fails. A plugin that goes away takes its devices off the board. It touches no pod.
//
// The names of resources are kept in a file, so that the next agent knows them before their plugins are back.
//
// A new agent removes the sockets that it finds, as Kubernetes does: plugins take that for the sign to register again.
//
// Start reading at Plugins in plugins.go.
package device
