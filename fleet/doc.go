// Package fleet has a node run the pods whose manifests stand in etcd. It is for several machines without a control
// plane.
//
//	<prefix>/pods/NAME      a pod's manifest, written by the fleet's owner
//	<prefix>/status/NAME    the pod as its node shows it, written here
//
//	<members>/NODE/record   how the node fares, written here
//	<members>/NODE/present  the sign that it is there, which goes with its lease
//
// A key that is written is posted to the node. A key that is removed ends its pod gracefully, and its status is removed
// when nothing of the pod is left. A manifest that the node refuses has failed, and its status says why. If a pod of
// that key runs already, it runs on as it was, with a condition that says so.
//
//	fleet.go   watches both sides, and queues keys to look at
//	next.go    pure: the next step for a key, so that both sides agree
//	carry.go   takes the step
//	record.go  pure: how the node fares, from all keys
//	speak.go   writes that down, seldom, and holds the lease
//	ask.go     reads it of all nodes, for kubelet fleet status
//	store.go   the part of etcd's API that is needed
//
// Nothing is removed before both sides have been read whole. Pods that came this way carry their key as an annotation.
// So a process that restarts knows its pods, and leaves alone the pods of other clients.
//
// Start reading at Run in fleet.go.
package fleet
