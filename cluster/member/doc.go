// Package member makes a node a member of a Kubernetes cluster. It knows two
// APIs, Kubernetes' and the node's, and carries between them: pods and what they
// use go down to the node, statuses and events go up, and the cluster hears that the node is
// alive. It has no way into the node but the API that everybody has.
//
//	Kubernetes' API ──watch──▶ wanted ────┐                    ┌── local ◀──watch── node API
//	                                      ├──▶ next ──▶ step ──┤
//	Kubernetes' API ◀──status, deletion───┘                    └──▶ apply, delete ──▶ node API
//
//	member.go     what runs side by side
//	cluster.go    the part of Kubernetes' API that a node needs
//	join.go       the Node object: registered, and kept true
//	node_status.go  pure but for the images: what it says of the node
//	label.go      which labels nodes may have
//	lease.go      the sign of life
//	pods.go       both sides of each pod are watched, and a queue holds what to look at
//	next.go       pure: the one next thing to do about a pod so that both sides agree
//	carry.go      does it
//	place.go      pods and volumes that suit the node by labels which it has in the cluster alone
//	status.go     pure: a node's status as the cluster is to have it
//	events.go     what happened on the node
//	objects.go    ConfigMaps, Secrets and RuntimeClasses, as long as a pod here uses them
//	shelf.go      where the node keeps them
//	tokens.go     service accounts' tokens, which are Secrets to the node
//	services.go   services' variables, which are ConfigMaps to the node
//	trust.go      ClusterTrustBundles, of which an API server may have none
//	claims.go     claims and the volumes they are bound to
//
// Nothing is kept on a disk: after a restart both sides are read anew, and next
// leads to the same place from wherever they are. While the API server is away
// nothing is taken for gone; what runs runs on.
package member
