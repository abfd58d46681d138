// Package images tests on a real containerd that it takes from the node's own
// registry what was imported, and everything else from where the user says.
//
// The rig's containerd looks up registries in a directory, as the embedded runtime
// does; each test has that directory written by host/registry and then pulls
// through the CRI adapter. Nothing is restarted in between: containerd reads the
// directory at each pull.
package images
