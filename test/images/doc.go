// Package images tests on a real containerd that it pulls imported images from the node's own
// registry, and all other images from the place that the user has configured.
//
// The rig's containerd reads the configuration of registries from a directory, as the embedded
// runtime does. In each test host/registry writes that directory, and then an image is pulled
// through the CRI adapter. containerd reads the directory at each pull, so nothing is restarted in
// between.
package images
