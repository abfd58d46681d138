// Package podfiles owns the files that the node itself makes for a pod and
// mounts into its containers: /etc/hosts, and the file for a container's termination
// message.
//
//	<Root>/<uid>/etc-hosts                          one for all containers of a pod
//	<Root>/<uid>/containers/<container>/<attempt>   one termination message a run
//
// A file is named after its purpose, so that making it twice makes one, and the next
// agent after a crash finds it again.
//
// Containers may write to both files. Reading back is bounded, and nothing here
// follows a symbolic link out of Root. Other directories below <Root>/<uid> belong to
// other packages; each removes <Root>/<uid> if nothing else is left in it.
//
// Start reading at Tree in tree.go; hosts.go says what a hosts file holds.
package podfiles
