// Package fleet runs on a node the pods that stand in etcd, for people who have several
// machines and want no control plane.
//
//	<prefix>/pods/NAME      a pod's manifest, written by the fleet's owner
//	<prefix>/status/NAME    the pod as its node shows it, written here
//
// A key that is written is posted to the node. A key that is removed ends its pod
// gracefully, and its status goes when nothing of the pod is left. A manifest that the node
// refuses has failed, and its status says why. If a pod runs under that key already, it
// runs on as it was, with a condition that says so.
//
//	fleet.go   both sides are watched, and a queue holds what to look at
//	carry.go   does the next thing
//	next.go    pure: the one next thing to do about a key
//	store.go   the part of etcd's API that is needed
//
// Nothing is removed before both sides have been read whole. Pods that came this way carry
// their key as an annotation, so a process that starts anew knows them, and leaves alone
// what others have posted.
package fleet
