// Package policy turns NetworkPolicies into rules of nftables. It has no I/O.
//
//	policies --+
//	           +--> Table --> two chains that each routed packet passes, one for each direction,
//	pods     --+              with a map from addresses of pods to what holds for them
//
// A packet passes two base chains, so that "accept" in the first leaves the second to judge. The first looks at the
// address that a packet comes from (egress), the second at the one that it goes to (ingress). A map leads from the
// address of an isolated pod to a chain: that jumps to the chain of each policy that selects the pod, and drops what none
// of them has accepted. Pods that the same policies select share a chain, so a packet costs two lookups and the rules of
// the policies that concern it, however many pods and policies there are.
//
// The tests hold a second, plain version of what Kubernetes says of policies (reference_test.go): random policies, pods and packets have to come to the same end in both.
//
// Always allowed are replies; what belongs to a connection, such as ICMP errors; what a pod sends to itself; and traffic
// between a pod and its node, which is not routed. Each packet from the side that opened a connection is judged, so
// a policy holds for connections that stand.
//
// Start reading at Table in table.go.
package policy
