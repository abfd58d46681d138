// Package podnet connects the pods of a node that runs its own container runtime: to each other over a bridge, and to
// the world under the host's address.
//
//	SetUp  --> subnets     (as configured, as before, or free ones)
//	       --> forwarding  (sysctls of the host)
//	       --> routed      (a table of nftables: masquerade, and ports that are closed to pods)
//	       --> guard       (another: pods keep to their own addresses)
//	       --> conflist    (containerd runs CNI plugins by it: the bundle's one, or bridge, host-local and portmap)
//	Follow --> lays the guard and the NetworkPolicies (policy) down again when these or pods' labels change
//	FollowServices --> leads packets for services to their pods (service)
//	Move   --> other subnets, while no pod is connected
//	Connect -> lets a pod that the plugins have connected onto the network
//	Watch  --> tells when the tables are removed, so that Keep comes at once
//	Keep   --> sets up again what a reload of the firewall took away, opens host ports again,
//	           and removes rules of host ports that lead to pods that are gone, and their addresses (left.go)
//	Clean  --> closes the host ports of killed pods, removes the bridge and the tables
//	Checks --> what all this needs of the machine
//
// Containerd calls the plugins when a pod comes and goes. This package does what they leave to the host, or what they
// would do once for each pod where once for all is enough.
//
// The bridge and the tables have names from the node's ID, so that several nodes share a machine. The directory of the
// CNI library's records and the chains of the portmap plugin belong to all runtimes of the machine: only records of
// this node are touched, and the chains go with the last port. A rule of a host port is this node's by the network that
// it names or, where it names none, by the subnet that it leads into (port_rules.go).
//
// The package does not know the container runtime. The runtime tells where its files lie (Places) and which sandboxes
// it has, and drives SetUp, Keep and Clean in step with containerd.
//
// Below it, policy turns NetworkPolicies into rules, service leads packets to the pods of services, and nft knows how the
// kernel wants a table.
//
// Start reading at Network in podnet.go.
package podnet
