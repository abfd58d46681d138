// Package member makes a node a member of a Kubernetes cluster. It is a client of two APIs, Kubernetes' and the node's,
// and carries between them. Pods and the objects that they use go down to the node. Statuses and events go up, with a
// lease that shows the node alive. It reaches the node by the API that every client has.
//
//	Kubernetes' API ──watch──▶ wanted ────┐                    ┌── local ◀──watch── node API
//	                                      ├──▶ next ──▶ step ──┤
//	Kubernetes' API ◀──status, deletion───┘                    └──▶ apply, delete ──▶ node API
//
//	member.go       puts the parts together and runs them
//	cluster.go      the part of Kubernetes' API that a node needs
//	join.go         registers the Node object and keeps it true
//	node_status.go  the Node object's status; pure, except for the list of images
//	label.go        labels that a node may have
//	subnets.go      passes the subnets of pods on to the node
//	lease.go        renews the lease
//	drivers.go      tells which CSI drivers and volumes are on the node
//	pods.go         watches both sides of each pod, and queues names to look at
//	board.go        tells the node which pods the cluster wants of those that run there
//	next.go         pure: the next step for a pod, so that both sides agree
//	carry.go        takes the step
//	manifest.go     pure: the manifest by which the node runs a pod of the cluster
//	place.go        marks pods and volumes that suit the node by labels of the cluster
//	status.go       pure: a pod's status in the cluster, from the node's
//	report.go       sends events to the cluster
//	events.go       carries the node's events there
//	objects.go      keeps ConfigMaps, Secrets and RuntimeClasses on the node while a pod uses them
//	source.go       watches the cluster's objects that they are made from
//	lack.go         which pods wait for an object, and how the cluster learns it
//	shelf.go        where the node keeps them
//	tokens.go       tokens of service accounts, which are Secrets on the node
//	services.go     variables of services, which are ConfigMaps on the node
//	trust.go        ClusterTrustBundles, which an API server may lack
//	claims.go       claims, and the volumes that they are bound to
//	attach.go       which volumes are attached, and which are in use
//
// Nothing is kept on a disk: after a restart both sides are read again, and next leads to the same place from any
// state. While the API server is away, nothing counts as gone, and running pods go on.
//
// Start reading at Run in member.go.
package member
